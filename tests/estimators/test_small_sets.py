"""Small data: what the guard accepts is seldom worse than the forest on new rows."""

import numpy as np

import random_small_sets


def test_estimators_are_seldom_worse_than_their_forest_on_new_rows():
    """A sample of the 300 cases of `random_small_sets.py`: before evidence was needed, ten of these were worse."""
    ratios = np.array([random_small_sets.ratio(random_small_sets.draw(seed)) for seed in SEEDS])
    assert ratios.max() < 1.5
    assert (ratios > 1.02).sum() <= 2
    assert np.exp(np.log(ratios).mean()) < 1.0


SEEDS = (7, 30, 83, 110, 146, 211, 230, *range(20, 30), 41, 75, 221)
