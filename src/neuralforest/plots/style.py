"""The style of all figures: colours, fonts, boxes. The only place that imports matplotlib, and only on use."""

import importlib
import unicodedata
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.plots._geometry import Size

# The palette of Okabe and Ito, which is safe for all kinds of colour vision.
FOREST, MODEL, HIGHLIGHT = "#D55E00", "#0072B2", "#009E73"
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
INK, QUIET, FAINT = "#222222", "#666666", "#CCCCCC"
SEQUENTIAL = "viridis"
DECREASE, INCREASE, MOVED = "#F5B183", "#9CC7E8", "#A5D8C3"  # light enough for black text

FONT, TITLE = 9.0, 11.0  # points, inside of drawings
MARGIN = 0.15  # inches, around drawings
_LINE = 1.35  # line height, in font sizes

_SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.edgecolor": QUIET,
    **dict.fromkeys(("font.size", "axes.labelsize"), 10.0),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 9.0),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon", "text.usetex"), False),
}


def matplotlib_module(name: str = "") -> Any:
    """Import matplotlib or one of its modules; without it, the error names the extra to install."""
    try:
        return importlib.import_module(f"matplotlib.{name}" if name else "matplotlib")
    except ImportError as error:
        raise missing_extra("matplotlib", "plots") from error


def style() -> AbstractContextManager[Any]:
    """Return the context in which all figures are drawn."""
    return matplotlib_module().rc_context(_SETTINGS)


def new_figure(size: Size) -> Any:
    """Return a new figure with room for labels and legends."""
    return matplotlib_module("pyplot").figure(figsize=size, layout="constrained")


class Canvas:
    """Axes whose unit is an inch, y downwards, with a title above.

    On axes of another size the whole drawing is scaled, text included, so that what does not overlap in inches does not
    overlap there. Without axes there is a new figure.
    """

    def __init__(self, ax: Any, size: Size, title: str) -> None:
        if ax is None:
            ax = matplotlib_module("pyplot").figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
        self.ax, (width, self.height) = ax, size
        room = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        self.scale = float(min(room.width / width, room.height / self.height))
        ax.set(xlim=(0, width), ylim=(self.height, 0), aspect="equal")
        ax.set_axis_off()
        self.write(MARGIN, 0.22, title, size=TITLE, ha="left")

    def write(self, x: float, y: float, text: str, **options: Any) -> Any:
        """Write text, without mathematics, centred at (x, y) unless options differ."""
        options = {"ha": "center", "va": "center", "size": FONT, "linespacing": 1.15, **options}
        options["size"] *= self.scale
        return self.ax.text(x, y, text, parse_math=False, **options)

    def notes(self, text: str) -> None:
        """Write notes at the bottom."""
        self.write(MARGIN, self.height - 0.08, text, ha="left", va="bottom", color=QUIET)

    def line(self, x: Sequence[float], y: Sequence[float], width: float, **options: Any) -> list[Any]:
        """Draw a line between two points."""
        return self.ax.plot(x, y, linewidth=width * self.scale, **options)

    def box(self, x: float, y: float, size: Size, colour: Any, is_round: bool = True, **options: Any) -> Any:
        """Draw a box around (x, y), with round corners or square ones."""
        width, height = size
        shape = f"round,pad=0,rounding_size={height / 2 if height < 0.3 else 0.12}" if is_round else "square,pad=0"
        options = {"facecolor": colour, "edgecolor": QUIET, "linewidth": 0.8, "zorder": 2, **options}
        options["linewidth"] *= self.scale
        corner = (x - width / 2, y - height / 2)
        patch = matplotlib_module("patches").FancyBboxPatch(corner, width, height, boxstyle=shape, **options)
        return self.ax.add_patch(patch)


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


def box_size(texts: Sequence[str], padding: float = 0.08) -> Size:
    """Return the size of a box that holds any of the strings."""
    width = max((text_width(text) for text in texts), default=0.0)
    lines = max((text.count("\n") + 1 for text in texts), default=1)
    return width + 2 * padding, lines * _LINE * FONT / 72 + padding
