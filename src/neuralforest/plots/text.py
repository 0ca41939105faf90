"""Numbers and names as text."""

import numpy as np


def short(name: str, length: int = 16) -> str:
    """Return a name on one line, shortened in the middle where it is too long."""
    name = " ".join(str(name).split())
    if len(name) <= length:
        return name
    tail = (length - 1) // 3
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """Return a number with a few digits, rarely with an exponent, and with a proper minus sign.

    Examples
    --------
    >>> number(3.14159), number(-16884.9), number(0.5, sign="+")
    ('3.142', '−16,885', '+0.5')
    """
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = 10**digits <= abs(value) < 1e9
    text = f"{value:{sign},.0f}" if whole else f"{value + 0.0:{sign}.{digits}g}"
    return text.replace("-", "−")
