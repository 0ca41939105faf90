"""The kernels that grow trees, on a few rows: the first split is the best of all, and leaves are pure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from neuralforest._kernels.trees import boosting, extra_tree, histogram
from neuralforest.base_models.gradient_boosting import _no_trees
from neuralforest.ensemble import FlatTrees

N = 40


def rows(seed, missing, n_features=3):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 9, size=(n_features, N)).astype(np.uint8)
    bins[rng.random(bins.shape) < missing] = histogram.MISSING
    return bins, rng.normal(size=N)


def boosted(bins, y, n_rounds=1, **changes):
    training, held_out = np.split(np.arange(N, dtype=np.uint32), [30])
    data = boosting.BinnedRows(bins, np.full(len(bins), 9), y, np.ones(len(y)), training, held_out)
    plan = boosting.BoostingPlan(boosting.SQUARED, 0.5, 1.0, len(bins), 5.0, 1.0, 0)._replace(**changes)
    model = _no_trees(np.zeros(1), N, n_rounds, 16)
    boosting.boost(data, plan, model, 0, n_rounds)
    return model


def gain_of(y, left):
    """Return the gain of a split by its definition; minus infinity where a child has less than five rows."""
    sides = [y[left], y[~left]]
    if min(map(len, sides)) < 5:
        return -np.inf
    return sum(side.sum() ** 2 / (len(side) + 1) for side in sides) - y.sum() ** 2 / (len(y) + 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 9])  # histograms are filled two or four at a time
def test_the_first_split_is_the_best_of_all(seed, missing, n_features):
    bins, y = rows(seed, missing, n_features)
    model = boosted(bins, y)
    bins, y = bins[:, :30], y[:30]
    best = max(
        gain_of(y, (bins[feature] <= place) | (left & (bins[feature] == histogram.MISSING)))
        for feature in range(n_features)
        for place in range(9)
        for left in (False, True)
    )
    own = bins[model.feature[0, 0]]
    goes_left = (own <= model.bin[0, 0]) | (model.missing_left[0, 0] & (own == histogram.MISSING))
    assert gain_of(y, goes_left) == pytest.approx(best, rel=1e-5)
    assert model.weight[0, : model.middle[0, 0]].sum() == goes_left.sum()
    assert (model.weight[0, : model.n_splits[0] + 1] >= 5).all()


def test_rounds_lower_the_loss_of_the_training_rows():
    bins, y = rows(0, 0.1)
    model = boosted(bins, y, 3, subsample=0.8)
    residual = y[:30] - model.score[:30, 0]
    assert (residual**2).sum() < 0.7 * (y[:30] ** 2).sum()
    assert_allclose(model.error[-1], ((y[30:] - model.score[30:, 0]) ** 2).sum())


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_leaves_of_extra_trees_are_pure(missing):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, N)).astype(np.float32)
    x[0, rng.random(N) < missing] = np.nan
    y, order = rng.normal(size=N), np.arange(N, dtype=np.uint32)
    room = FlatTrees.room_for(N, N, 1)
    n_splits = extra_tree.grow(x, y, None, None, order, 2, 0, room)
    assert n_splits == N - 1
    assert_array_equal(room.weight, np.ones(N))
    assert_allclose(room.value[:, 0], y[order])  # rows stand in the order of their leaves
    assert_array_equal(np.sort(order), np.arange(N))
    left = room.middle[0]
    number = x[room.feature[0]][order]
    goes_left = (number <= np.float32(room.threshold[0])) | (np.isnan(number) & room.missing_left[0])
    assert_array_equal(goes_left, np.arange(N) < left)
