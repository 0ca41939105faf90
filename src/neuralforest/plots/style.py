"""The style of all figures: colours, fonts, boxes. The only place that imports matplotlib, and only on use."""

import importlib
import unicodedata
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from neuralforest._extras import missing_extra

# The palette of Okabe and Ito, which is safe for all kinds of colour vision.
FOREST, MODEL, HIGHLIGHT = "#D55E00", "#0072B2", "#009E73"
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
INK, QUIET, FAINT = "#222222", "#666666", "#CCCCCC"
SEQUENTIAL = "viridis"
DECREASE, INCREASE, MOVED = "#F5B183", "#9CC7E8", "#A5D8C3"  # light enough for black text

FONT, TITLE = 9.0, 11.0  # points, inside of drawings
_LINE = 1.35  # line height, in font sizes

_SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "text.color": INK,
    "text.usetex": False,
}


def matplotlib_module(name: str = "") -> Any:
    """Import matplotlib or one of its modules; without it, the error names the extra to install."""
    try:
        return importlib.import_module(f"matplotlib.{name}" if name else "matplotlib")
    except ImportError as error:
        raise missing_extra("matplotlib", "plots") from error


def style() -> AbstractContextManager[Any]:
    """Return the context in which all figures are drawn."""
    context: AbstractContextManager[Any] = matplotlib_module().rc_context(_SETTINGS)
    return context


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new figure of that size in inches, with room for labels and legends."""
    figure = matplotlib_module("pyplot").figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot()


def canvas(ax: Any, width: float, height: float) -> tuple[Any, float]:
    """Return axes whose unit is an inch, y downwards, and the scale of fonts and lines.

    Parameters
    ----------
    ax : matplotlib axes or None
        None makes a figure of this size. On axes of another size the whole drawing is scaled, text included, so that
        what does not overlap in inches does not overlap there.
    width, height : float
        Inches.
    """
    if ax is None:
        figure = matplotlib_module("pyplot").figure(figsize=(width, height))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    room = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    ax.set_axis_off()
    return ax, float(min(room.width / width, room.height / height))


def write(ax: Any, x: float, y: float, text: str, scale: float = 1.0, **options: Any) -> Any:
    """Write text, without mathematics, centred at (x, y) unless options differ."""
    options = {"ha": "center", "va": "center", "size": FONT, "linespacing": 1.15, **options}
    options["size"] *= scale
    return ax.text(x, y, text, parse_math=False, **options)


def box(
    ax: Any,
    x: float,
    y: float,
    size: tuple[float, float],
    colour: Any,
    scale: float = 1.0,
    round_: bool = True,
    **options: Any,
) -> Any:
    """Draw a box around (x, y), with round corners or square ones."""
    width, height = size
    shape = f"round,pad=0,rounding_size={height / 2 if height < 0.3 else 0.12}" if round_ else "square,pad=0"
    options = {"facecolor": colour, "edgecolor": QUIET, "linewidth": 0.8, "zorder": 2, **options}
    options["linewidth"] *= scale
    patches = matplotlib_module("patches")
    patch = patches.FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=shape, **options)
    return ax.add_patch(patch)


def blended(colour: str, amount: float) -> tuple[float, float, float]:
    """Return a colour between white (amount 0) and the colour itself (amount 1 and more)."""
    rgb = np.array(matplotlib_module("colors").to_rgb(colour))
    red, green, blue = 1 - min(abs(amount), 1.0) * (1 - rgb)
    return float(red), float(green), float(blue)


def text_width(text: str, size: float = FONT) -> float:
    """Return the width of the longest line of a text in inches."""
    textpath, fonts = matplotlib_module("textpath"), matplotlib_module("font_manager")
    font = fonts.FontProperties(family="DejaVu Sans", size=size)

    def width(line: str) -> float:  # wide characters, such as Chinese, are in no font of matplotlib
        others = "".join(character for character in line if unicodedata.east_asian_width(character) not in "WF")
        squares = (len(line) - len(others)) * size
        return squares + float(textpath.text_to_path.get_text_width_height_descent(others, font, False)[0])

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # it comes again with the drawing
        return max(width(line) for line in text.split("\n")) / 72


def box_size(texts: Iterable[str], size: float = FONT, padding: float = 0.08) -> tuple[float, float]:
    """Return width and height in inches of a box that holds any of the texts."""
    texts = list(texts)
    width = max((text_width(text, size) for text in texts), default=0.0)
    lines = max((text.count("\n") + 1 for text in texts), default=1)
    return width + 2 * padding, lines * _LINE * size / 72 + padding


def plain(text: str) -> str:
    """Return a text without mathematics, for labels and legends of matplotlib."""
    return text.replace("$", r"\$")
