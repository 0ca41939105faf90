"""The estimators on a Dask cluster, for rows that do not fit one machine. Needs the libraries dask and distributed.

Every tree is grown, and its network trained, on a sample of the rows; see `docs/scaling.md`.
"""

from neuralforest._extras import missing_extra

try:
    import distributed  # noqa: F401
except ImportError as error:
    raise missing_extra("dask", "dask") from error

from neuralforest.dask._estimators import DaskNeuralForestClassifier, DaskNeuralForestRegressor

__all__ = ["DaskNeuralForestClassifier", "DaskNeuralForestRegressor"]
