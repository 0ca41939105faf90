"""The sentences with which a reader refuses a model. Every one names the model, the reason and what is supported."""

from neuralforest.exceptions import NotFittedError, UnsupportedModelError


def unsupported(model: object, reason: str, supported: str) -> UnsupportedModelError:
    """Return the error for a model that cannot be read.

    Parameters
    ----------
    model : object
        The model, or the class when that was passed by mistake.
    reason : str
        What stands in the way, as the end of a sentence.
    supported : str
        What would work instead.

    Examples
    --------
    >>> from neuralforest.readers._refusal import unsupported
    >>> print(unsupported(42, "no reader supports this class", "fitted tree ensembles"))
    int cannot be read: no reader supports this class. Supported: fitted tree ensembles.
    """
    return UnsupportedModelError(f"{_name(model)} cannot be read: {reason}. Supported: {supported}.")


def not_fitted(model: object) -> NotFittedError:
    """Return the error for a model without trees."""
    return NotFittedError(
        f"{_name(model)} cannot be read: it is not fitted. Supported: a fitted model; call fit first."
    )


def _name(model: object) -> str:
    return model.__name__ if isinstance(model, type) else type(model).__name__
