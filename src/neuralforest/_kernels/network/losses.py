"""Losses of a row and their gradients w.r.t. the predictions.

A new loss touches two files: here, its constant and its branch in `row_loss` (or in `_residual_loss`, for a function of
prediction - target), and its name in `training/losses.py`.
"""

import numpy as np

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.simd import lane_sum, load, store

SQUARED_ERROR, HUBER, QUANTILE, LOG_PROBABILITY, LOG_LOGISTIC, LOG_SOFTMAX = range(6)

_F = np.float32
_FLOOR = np.float32(1e-7)  # the lower bound of a probability, so that its logarithm is finite


@part
def squared_error(residual, weight, factor):  # type: ignore[no-untyped-def]
    """Return weight * residual^2 and weight * residual * factor, its gradient where the factor is 2."""
    weighted = residual * weight
    return weighted * residual, weighted * factor


@part
def _residual_loss(kind, parameter, residual):  # type: ignore[no-untyped-def]
    """Return loss and gradient of a residual, prediction minus target."""
    if kind == SQUARED_ERROR:
        return squared_error(residual, _F(1.0), _F(2.0))
    if kind == HUBER:
        size = min(abs(residual), parameter)
        return _F(2.0) * size * abs(residual) - size * size, _F(2.0) * min(max(residual, -parameter), parameter)
    grad = -parameter if residual < _F(0.0) else _F(1.0) - parameter  # QUANTILE
    return grad * residual, grad


@part
def row_loss(kind, parameter, prediction, target, grad, lane):  # type: ignore[no-untyped-def]
    """Return the loss of one lane and fill its gradient; prediction, target and grad have shape (outputs, lanes).

    Losses of residuals are averaged over the outputs. LOG_PROBABILITY takes probabilities, LOG_LOGISTIC log-odds,
    LOG_SOFTMAX a score for each class; their targets are 0 and 1.
    """
    outputs = len(prediction)
    loss = _F(0.0)
    if kind <= QUANTILE:
        share = _F(1.0) / _F(outputs)
        for o in range(outputs):
            value, derivative = _residual_loss(kind, parameter, prediction[o, lane] - target[o, lane])
            loss += value * share
            grad[o, lane] = derivative * share
    elif kind == LOG_PROBABILITY:
        for o in range(outputs):
            p = max(prediction[o, lane], _FLOOR)
            loss -= target[o, lane] * np.log(p)
            grad[o, lane] = -target[o, lane] / p
    elif kind == LOG_LOGISTIC:
        z = prediction[0, lane]
        small = np.exp(-abs(z))  # of exp(z) and exp(-z) the one that cannot overflow
        loss = max(z, _F(0.0)) - target[0, lane] * z + np.log(_F(1.0) + small)
        p = (_F(1.0) if z >= _F(0.0) else small) / (_F(1.0) + small)
        grad[0, lane] = p - target[0, lane]
    else:  # LOG_SOFTMAX
        highest, norm = prediction[0, lane], _F(0.0)
        for o in range(1, outputs):
            highest = max(highest, prediction[o, lane])
        for o in range(outputs):
            norm += np.exp(prediction[o, lane] - highest)
        for o in range(outputs):
            loss += target[o, lane] * (np.log(norm) + highest - prediction[o, lane])
            grad[o, lane] = np.exp(prediction[o, lane] - highest) / norm - target[o, lane]
    return loss


@part
def _sum_by_lanes(kind, parameter, prediction, target, weight, rows, grad):  # type: ignore[no-untyped-def]
    """Compute `batch_loss` for any loss, in a loop over the lanes."""
    sum_ = 0.0
    for lane in range(prediction.shape[1]):
        sum_ += np.float64(weight[lane]) * row_loss(kind, _F(parameter), prediction, target, grad, lane)
        factor = weight[lane] / _F(rows)
        for o in range(len(prediction)):
            grad[o, lane] *= factor
    return sum_


@part
def _sum_by_vectors(prediction, target, weight, rows, grad):  # type: ignore[no-untyped-def]
    """Compute `batch_loss` for the squared error, without a loop over the lanes."""
    outputs = len(prediction)
    weights, sum_ = load(weight, 0), 0.0
    for o in range(outputs):
        residual = load(prediction, o) - load(target, o)
        loss, gradient = squared_error(residual, weights, _F(2.0 / (outputs * rows)))
        sum_ += lane_sum(loss)
        store(grad, o, gradient)
    return sum_ / outputs


@part
def batch_loss(kind, parameter, prediction, target, weight, rows, grad):  # type: ignore[no-untyped-def]
    """Return the summed loss of 32 lanes and fill the gradients of weight * loss / rows; see `Plan` for a None."""
    if parameter is not None:
        sum_ = _sum_by_lanes(kind, parameter, prediction, target, weight, rows, grad)
    else:
        sum_ = _sum_by_vectors(prediction, target, weight, rows, grad)
    return sum_


@kernel
def mean_loss(kind, parameter, prediction, target, weight):  # type: ignore[no-untyped-def]
    """Return the weighted mean loss of predictions and targets of shape (outputs, rows), in float64."""
    grad = np.empty_like(prediction)
    sum_ = 0.0
    for row in range(prediction.shape[1]):
        if weight[row] > 0.0:
            sum_ += weight[row] * row_loss(kind, parameter, prediction, target, grad, row)
    return sum_ / weight.sum()
