"""A progress bar for long fits: a callback that needs nothing but a terminal."""

import sys
import time

from neuralforest.training.history import History

_WIDTH = 30


class ProgressBar:
    """Show how far a fit is, its validation loss and the time left, on one line of the standard error.

    In a terminal or a notebook the line is written anew after every epoch; elsewhere (a log file) only the last one is
    written. The estimator sets the number of epochs.

    Examples
    --------
    >>> import neuralforest as nf
    >>> model = nf.NeuralForestRegressor(callback=nf.ProgressBar())
    """

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, n_epochs: int) -> None:
        """Start a bar of this many epochs."""
        self.n_epochs, self.done, self.line = n_epochs, 0, ""
        self.started = time.monotonic()

    def __call__(self, epoch: int, history: History) -> None:
        """Count one more epoch, and show it."""
        self.done += 1
        self.n_epochs = max(self.n_epochs, self.done)
        line = self._text(history)
        if _can_overwrite():
            sys.stderr.write("\r" + line.ljust(len(self.line)))
            sys.stderr.flush()
        self.line = line

    def end(self) -> None:
        """Finish the line, and note where training ended early."""
        if self.line:
            early = self.done < self.n_epochs
            last = self.line.rpartition(", ")[0] + ", ended early" if early else self.line
            if _can_overwrite():
                last = "\r" + last.ljust(len(self.line)) if early else ""
            sys.stderr.write(last + "\n")
            sys.stderr.flush()

    def _text(self, history: History) -> str:
        share = self.done / self.n_epochs
        seconds = (time.monotonic() - self.started) * (1 - share) / share
        filled = round(_WIDTH * share)
        _, validation, forest = history.means()
        return (
            f"[{'#' * filled}{'-' * (_WIDTH - filled)}] epoch {self.done} of {self.n_epochs}, "
            f"validation loss {validation[-1]:.4f} (forest {forest:.4f}), {_duration(seconds)} left"
        )


def _can_overwrite() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
