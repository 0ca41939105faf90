"""What can go wrong, as classes: each is also the built-in or scikit-learn error that a caller would expect."""

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class NeuralForestError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidEnsembleError(NeuralForestError, ValueError):
    """Arrays that do not describe trees."""


class UnsupportedModelError(NeuralForestError, ValueError):
    """A model that cannot be rewritten exactly."""


class InvalidParameterError(NeuralForestError, ValueError):
    """An argument outside its range."""


class NotFittedError(NeuralForestError, _SklearnNotFittedError):
    """A model that has to be fitted first."""


class CheckpointError(NeuralForestError, ValueError):
    """A checkpoint that belongs to another fit, or is damaged."""


class ModelFileError(NeuralForestError, ValueError):
    """A model file that is not one, is damaged, or holds what a model cannot hold."""


class TableError(NeuralForestError, ValueError):
    """A table whose columns or values do not fit a model."""


class ConvergenceWarning(UserWarning):
    """Training went wrong or stopped early; the best state so far was kept."""


class ValidationWarning(UserWarning):
    """Validation rows may have been training rows before, so that validation losses may be too low."""


class TableWarning(UserWarning):
    """Values of a table are taken in another way than they may be meant, such as new categories or lost digits."""


class CostWarning(UserWarning):
    """A fit would have taken too long or too much memory; a cheaper form was chosen."""
