"""Losses of one row and their slopes. To add one: a number, a branch here, and a line in training/losses.py."""

import numpy as np

from neuralforest._kernels.jit import kernel, part

SQUARED_ERROR, HUBER, QUANTILE, LOG_PROBABILITY, LOG_LOGISTIC, LOG_SOFTMAX = range(6)

_F = np.float32
_FLOOR = np.float32(1e-7)  # a probability below this counts as this, so that its logarithm stays finite


@part
def _of_residual(kind, parameter, residual):  # type: ignore[no-untyped-def]
    """Return loss and slope of a residual, prediction minus target."""
    if kind == SQUARED_ERROR:
        return residual * residual, _F(2.0) * residual
    if kind == HUBER:
        size = min(abs(residual), parameter)
        return _F(2.0) * size * abs(residual) - size * size, _F(2.0) * min(max(residual, -parameter), parameter)
    slope = -parameter if residual < _F(0.0) else _F(1.0) - parameter  # QUANTILE
    return slope * residual, slope


@part
def row_loss(kind, parameter, prediction, target, slope, lane):  # type: ignore[no-untyped-def]
    """Return the loss of one lane and fill its slopes; prediction, target and slope have shape (outputs, SIMD_WIDTH).

    For the losses of residuals this is the mean over the outputs. LOG_PROBABILITY takes probabilities, LOG_LOGISTIC one
    log-odds, LOG_SOFTMAX a score for each class; the targets are 0 and 1.
    """
    outputs = len(prediction)
    loss = _F(0.0)
    if kind <= QUANTILE:
        share = _F(1.0) / _F(outputs)
        for o in range(outputs):
            value, derivative = _of_residual(kind, parameter, prediction[o, lane] - target[o, lane])
            loss += value * share
            slope[o, lane] = derivative * share
    elif kind == LOG_PROBABILITY:
        for o in range(outputs):
            p = max(prediction[o, lane], _FLOOR)
            loss -= target[o, lane] * np.log(p)
            slope[o, lane] = -target[o, lane] / p
    elif kind == LOG_LOGISTIC:
        z = prediction[0, lane]
        small = np.exp(-abs(z))  # of the two exponentials the one that cannot overflow
        loss = max(z, _F(0.0)) - target[0, lane] * z + np.log(_F(1.0) + small)
        p = (_F(1.0) if z >= _F(0.0) else small) / (_F(1.0) + small)
        slope[0, lane] = p - target[0, lane]
    else:  # LOG_SOFTMAX
        highest = prediction[0, lane]
        for o in range(1, outputs):
            highest = max(highest, prediction[o, lane])
        norm = _F(0.0)
        for o in range(outputs):
            norm += np.exp(prediction[o, lane] - highest)
        for o in range(outputs):
            loss += target[o, lane] * (np.log(norm) + highest - prediction[o, lane])
            slope[o, lane] = np.exp(prediction[o, lane] - highest) / norm - target[o, lane]
    return loss


@part
def batch_loss(kind, parameter, prediction, target, weight, rows, slope):  # type: ignore[no-untyped-def]
    """Return the summed loss of 32 lanes; fill the slopes of weight * loss / rows."""
    outputs = len(prediction)
    sum_ = 0.0
    for lane in range(prediction.shape[1]):
        sum_ += np.float64(weight[lane]) * row_loss(kind, _F(parameter), prediction, target, slope, lane)
        factor = weight[lane] / _F(rows)
        for o in range(outputs):
            slope[o, lane] *= factor
    return sum_


@kernel
def mean_loss(kind, parameter, prediction, target, weight):  # type: ignore[no-untyped-def]
    """Return the weighted mean loss of predictions and targets of shape (outputs, rows), in float64."""
    slope = np.empty_like(prediction)
    sum_ = 0.0
    for row in range(prediction.shape[1]):
        if weight[row] > 0.0:
            sum_ += weight[row] * row_loss(kind, parameter, prediction, target, slope, row)
    return sum_ / weight.sum()
