"""Rows of a fit."""

import numpy as np
import pytest

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.training import SubnetworkRows, TrainingData
from training_twins import random_ensemble, random_rows


def test_shared_rows_are_the_same_for_every_subnetwork():
    rows = SubnetworkRows.shared(np.array([4, 2, 7]), np.array([1.0, 0.0, 2.0]), n_subnetworks=3)
    for subnetwork in range(3):
        row, weight = rows.of(subnetwork)
        assert (row.tolist(), weight.tolist()) == ([4, 7], [1.0, 2.0])  # a weight of 0 is no row
    assert rows.are_shared
    assert (rows.row.dtype, rows.weight.dtype, rows.begin.dtype) == (np.int32, np.float32, np.int64)


def test_own_rows_stand_end_to_end():
    rows = SubnetworkRows.own([np.array([0, 1]), np.array([5, 6, 7])], [np.ones(2), np.array([0.0, 1.0, 3.0])])
    assert rows.of(0)[0].tolist() == [0, 1]
    assert [part.tolist() for part in rows.of(1)] == [[6, 7], [1.0, 3.0]]
    assert not rows.are_shared


def make(fit, validation, n_subnetworks=2):
    X, y = random_rows(random_ensemble(), 10)
    rows = [SubnetworkRows.shared(np.arange(10)[part], np.ones(10)[part], n_subnetworks) for part in (fit, validation)]
    return TrainingData(X, y, *rows)


def test_every_subnetwork_needs_training_rows():
    message = r"^every subnetwork needs training rows .* and subnetwork 0 has none$"
    with pytest.raises(InvalidParameterError, match=message):
        make(slice(0, 0), slice(5, 10))
    own = SubnetworkRows.own([np.array([0]), np.array([1])], [np.ones(1), np.zeros(1)])
    X, y = random_rows(random_ensemble(), 10)
    with pytest.raises(InvalidParameterError, match="subnetwork 1 has none"):
        TrainingData(X, y, own, SubnetworkRows.shared(np.arange(3), np.ones(3), 2))


def test_validation_needs_a_row():
    with pytest.raises(
        InvalidParameterError, match=r"^validation needs at least one row of positive weight, got none$"
    ):
        make(slice(0, 5), slice(5, 5))


def test_training_rows_have_the_sum_of_their_weights_in_all_subnetworks():
    """A forest draws heavy rows into more trees: a mean over the trees that have a row would lose their weight."""
    own = SubnetworkRows.own([np.array([5, 1]), np.array([5, 7])], [np.array([1.0, 2.0]), np.array([3.0, 0.0])])
    X, y = random_rows(random_ensemble(), 10)
    rows, weight = TrainingData(X, y, own, SubnetworkRows.shared(np.arange(3), np.ones(3), 2)).training_rows
    assert (rows.tolist(), weight.tolist()) == ([1, 5], [2.0, 4.0])


def test_weights_that_are_0_in_single_precision_are_no_rows():
    tiny = np.array([1.0, 1e-50])
    assert SubnetworkRows.shared(np.arange(2), tiny, 2).of(1)[0].tolist() == [0]
    assert SubnetworkRows.own([np.arange(2)], [tiny]).of(0)[0].tolist() == [0]


def test_targets_of_a_regression_are_scaled_and_classes_are_not():
    soft = ForestNetwork(random_ensemble()).soften(output_center=2.0, output_scale=4.0)
    data = make(slice(0, 5), slice(5, 10), soft.n_subnetworks)
    np.testing.assert_allclose(data.scaled_y(soft), (data.y - 2) / 4)
    classifier = ForestNetwork(random_ensemble(kind="forest", n_outputs=1)).soften(output_center=2.0, output_scale=4.0)
    np.testing.assert_array_equal(data.scaled_y(classifier), data.y)


def test_kernels_get_single_precision_in_the_order_of_rows():
    soft = ForestNetwork(random_ensemble()).soften(center=1.0, scale=2.0)
    data = make(slice(0, 5), slice(5, 10), soft.n_subnetworks)
    fit, validation = data.kernel_rows(soft)
    assert (fit.X.dtype, fit.y.dtype) == (np.float32, np.float32)
    assert fit.X.flags.c_contiguous
    np.testing.assert_allclose(fit.X, (data.X - 1) / 2, rtol=1e-6)
    assert fit.row.tolist() == [0, 1, 2, 3, 4]
    assert validation.row.tolist() == [5, 6, 7, 8, 9]
