"""The scikit-learn face of the package."""

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.ensemble import RandomForestRegressor

from neuralforest.estimators.bart import BARTRegressor
from neuralforest.estimators.classifier import NeuralForestClassifier
from neuralforest.estimators.regressor import NeuralForestRegressor
from neuralforest.estimators.warmup import Warmup, warmup

__all__ = ["PAPER_SETTINGS", "BARTRegressor", "NeuralForestClassifier", "NeuralForestRegressor", "Warmup", "warmup"]


class _PaperSettings(Mapping[str, Any]):
    """The paper's experiment as parameters; every access to `forest` returns a new one, which may be changed.

    Examples
    --------
    >>> import neuralforest as nf
    >>> model = nf.NeuralForestRegressor(**nf.PAPER_SETTINGS, training="joint", connectivity="sparse")
    >>> model.contrast
    (100.0, 1.0)
    """

    _SETTINGS = {  # noqa: RUF012
        "forest": None,
        "contrast": (100.0, 1.0),
        "contrast_unit": "feature",
        "learning_rate": 0.001,
        "schedule": "constant",
        "batch_size": 32,
        "max_epochs": 100,
        "standardize": False,
        "validation": "fraction",
        "validation_fraction": 1 / 3,
    }

    def __getitem__(self, name: str) -> Any:
        if name == "forest":
            return RandomForestRegressor(n_estimators=30, max_depth=6, bootstrap=False)
        return self._SETTINGS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._SETTINGS)

    def __len__(self) -> int:
        return len(self._SETTINGS)

    def __repr__(self) -> str:
        return repr(dict(self))


PAPER_SETTINGS = _PaperSettings()
"""The paper's experiment: the forest of its authors, their training, raw units. With 75% of the rows given to `fit`,
the network is trained on 50% and validated on 25%. Choose `training` (NRF1 or NRF2) and `connectivity`.
"""
