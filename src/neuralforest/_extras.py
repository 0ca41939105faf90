"""The error for an optional library that is not installed: it names the extra to install."""

from neuralforest.exceptions import NeuralForestError


class MissingExtraError(NeuralForestError, ImportError):
    """An optional library that is not installed."""


def missing_extra(library: str, extra: str) -> MissingExtraError:
    """Return the error for a library that an extra of this package installs."""
    return MissingExtraError(f"this needs {library}, which is not installed: pip install 'neuralforest[{extra}]'")
