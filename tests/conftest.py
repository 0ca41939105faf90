import pytest

from neuralforest.estimators import candidates


@pytest.fixture(autouse=True, scope="session")
def few_boosted_trees():
    """More boosted trees beside the networks of these tests would take minutes, and show nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_MOST_TREES", 50)
        yield
