"""Numbers and names as text to be read."""

import numpy as np


def short(name: str, length: int = 16) -> str:
    """Return a name on one line, cut in the middle where it is too long: both ends tell names apart."""
    name = " ".join(str(name).split())
    if len(name) <= length:
        return name
    tail = (length - 1) // 3
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"


def number(value: float, digits: int = 4) -> str:
    """Return a number to be read: four digits, a minus sign that is one."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    return f"{value + 0.0:.{digits}g}".replace("-", "−")


def change(value: float, digits: int = 2) -> str:
    """Return a difference with its sign."""
    return f"{value + 0.0:+.{digits}g}".replace("-", "−") if np.isfinite(value) else "–"
