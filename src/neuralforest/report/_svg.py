"""Figures as SVG inside an HTML page: identifiers are unique in the page, and nothing is fetched."""

import html
import io
import re
import warnings
from typing import Any

from neuralforest.plots import style

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style .*?</style>", re.DOTALL)
_NAME = re.compile(r'(\bid="|url\(#|href="#)')
_OPENING = re.compile(r"<svg[^>]*>")
_VIEW = re.compile(r'viewBox="([^"]*)"')


def new_figure(size: tuple[float, float], layout: str | None = "constrained") -> Any:
    """Return a figure of that size in inches, without a window."""
    with style.style():
        return style.matplotlib_module("figure").Figure(figsize=size, layout=layout)


def inline_svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as an `svg` element, its text as text.

    Parameters
    ----------
    figure : matplotlib figure
    name : str
        Prefix of every identifier, different for each figure of a page.
    description : str
        The text of screen readers.
    """
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style.style(), style.matplotlib_module().rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the reader's browser has other fonts
        figure.savefig(buffer, format="svg", metadata=nothing, dpi=150)
    text = _DROPPED.sub("", buffer.getvalue())
    text = _NAME.sub(rf"\g<1>{name}-", text)
    view = _VIEW.search(text)
    assert view is not None
    opening = f'<svg viewBox="{view[1]}" role="img" aria-label="{html.escape(description)}">'
    return _OPENING.sub(lambda _: opening, text, count=1).strip()
