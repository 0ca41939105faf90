"""The words that describe an ensemble: how trees are combined, what the result means, how features are compared."""

from typing import Literal

Aggregation = Literal["mean", "sum"]
Link = Literal["identity", "log", "logit", "softmax", "probit"]
CompareDtype = Literal["float32", "float64"]
