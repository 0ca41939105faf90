"""What can go wrong, as classes: each is also the built-in or scikit-learn error that a caller would expect."""

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class NeuralForestError(Exception):
    """Base of every error that this package raises on purpose.

    Examples
    --------
    >>> from neuralforest.exceptions import InvalidParameterError, NeuralForestError
    >>> issubclass(InvalidParameterError, NeuralForestError), issubclass(InvalidParameterError, ValueError)
    (True, True)
    """


class InvalidEnsembleError(NeuralForestError, ValueError):
    """Arrays that do not describe trees."""


class UnsupportedModelError(NeuralForestError, ValueError):
    """A model that cannot be rewritten exactly.

    Examples
    --------
    >>> import neuralforest as nf
    >>> nf.convert("no model")
    Traceback (most recent call last):
        ...
    neuralforest.exceptions.UnsupportedModelError: str cannot be read: ...
    """


class InvalidParameterError(NeuralForestError, ValueError):
    """An argument outside its range.

    Examples
    --------
    >>> import neuralforest as nf
    >>> nf.NeuralForestRegressor(tune="trees").fit([[0.0], [1.0]], [0.0, 1.0])
    Traceback (most recent call last):
        ...
    neuralforest.exceptions.InvalidParameterError: tune must be ...
    """


class NotFittedError(NeuralForestError, _SklearnNotFittedError):
    """A model that has to be fitted first.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> nf.convert(RandomForestRegressor())
    Traceback (most recent call last):
        ...
    neuralforest.exceptions.NotFittedError: ...
    """


class CheckpointError(NeuralForestError, ValueError):
    """A checkpoint that belongs to another fit, or is damaged."""


class ModelFileError(NeuralForestError, ValueError):
    """A model file that is not one, is damaged, or holds what a model cannot hold.

    Examples
    --------
    >>> import neuralforest as nf
    >>> path = getfixture("tmp_path") / "text.nforest"
    >>> _ = path.write_text("no model")
    >>> nf.load(path)
    Traceback (most recent call last):
        ...
    neuralforest.exceptions.ModelFileError: '...' is not a neuralforest model file: ...
    """


class TableError(NeuralForestError, ValueError):
    """A table whose columns or values do not fit a model."""


class ConvergenceWarning(UserWarning):
    """Training failed or stopped early; the best state so far is kept."""


class ValidationWarning(UserWarning):
    """Validation rows may have been training rows before, so that validation losses may be too low."""


class TableWarning(UserWarning):
    """Values of a table may be interpreted in another way than intended, such as new categories or lost digits."""


class CostWarning(UserWarning):
    """A fit would take too long or too much memory; a cheaper variant is used."""
