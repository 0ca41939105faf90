import pytest

from neuralforest.estimators import boosting


@pytest.fixture(autouse=True, scope="session")
def few_boosted_trees():
    """More boosted trees beside the networks of these tests would take longer, and show nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "_MOST_TREES", 200)
        yield
