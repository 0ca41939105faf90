"""What a fit costs: memory that does not grow with the epochs."""

import tracemalloc

import pytest

from small_models import regression, small


def peak_memory(model, X, y):
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("training", ["independent", "joint"])
def test_memory_stays_flat_in_the_number_of_epochs(connectivity, training):
    X, y = regression(3000)
    settings = {"connectivity": connectivity, "training": training}
    small(max_epochs=1, **settings).fit(X, y)  # compiles
    few, many = (peak_memory(small(max_epochs=epochs, **settings), X, y) for epochs in (2, 30))
    assert many < 1.1 * few + 100_000  # a copy of the rows in every epoch would take 3 MB or more
