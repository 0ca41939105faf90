"""The HTML of a report: page, tables and figures, as strings that fetch nothing. It is independent of models."""

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from neuralforest.plots.style import matplotlib_module, style
from neuralforest.plots.text import number

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style .*?</style>", re.DOTALL)
_NAME = re.compile(r'(\bid="|url\(#|href="#)')
_OPENING = re.compile(r'<svg[^>]*(viewBox="[^"]*")[^>]*>')

_NARROWEST, _PHONE = 9.0, 3.6  # inches: a drawing shrinks to the first; a phone shows the second

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 0 1rem 3rem; max-width: 64rem; color: #222; background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif; }
h1 { font-size: clamp(1.3rem, 6vw, 1.9rem); line-height: 1.2; margin: 1.5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
p { max-width: 42rem; }
.lead { font-size: 1.1rem; }
table { border-collapse: collapse; margin: .75rem 0; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #e5e5e5; vertical-align: top; }
td { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
th { font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font-size: .9em; overflow-wrap: anywhere; }
figure { margin: .75rem 0; min-width: 0; }
figcaption, .quiet { color: #555; font-size: .9rem; max-width: 42rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: .5rem 2rem; }
.chart svg { display: block; width: 100%; max-width: 38rem; height: auto; }
.grid .chart svg { max-width: 28rem; }
.drawing { overflow-x: auto; border: 1px solid #e5e5e5; border-radius: .4rem; }
.drawing svg { display: block; width: 100%; height: auto; margin: 0 auto; }
.swipe { display: none; }
@media (max-width: 60rem) { .swipe { display: inline; } }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
summary { cursor: pointer; padding: .3rem 0; }
footer { margin-top: 3rem; }
@media (max-width: 40rem) { td.number, th.number { white-space: normal; } th, td { padding-right: .5rem; } }
"""


def page(title: str, subtitle: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return the page, given its title, a line below it, and the heading and the HTML of each section."""
    from neuralforest import __version__

    body = "\n".join(f"<section>\n<h2>{escape(head)}</h2>\n{content}\n</section>" for head, content in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="neuralforest {escape(__version__)}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="quiet">{escape(subtitle)}</p>
<main>
{body}
</main>
<footer class="quiet">Written by neuralforest {escape(__version__)}. This page is one file and fetches nothing.</footer>
</body>
</html>
"""


def paragraph(text: str, kind: str = "normal") -> str:
    """Return a paragraph, escaped; of kind "normal", "lead" or "quiet"."""
    return f'<p class="{kind}">{escape(text)}</p>'


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Return a table; numbers are rounded; all but strings are aligned right."""

    def cell(value: Any, tag: str = "td") -> str:
        if isinstance(value, float | int):
            return f'<{tag} class="number">{number(float(value)) if isinstance(value, float) else f"{value:,}"}</{tag}>'
        kind = "" if isinstance(value, str) else ' class="number"'
        return f"<{tag}{kind}>{escape(str(value))}</{tag}>"

    titles = [f'<th class="number">{escape(title)}</th>' if i else cell(title, "th") for i, title in enumerate(head)]
    lines = ["<tr>" + "".join(titles) + "</tr>"] if head else []
    lines += ["<tr>" + cell(row[0], "th") + "".join(cell(value) for value in row[1:]) + "</tr>" for row in rows]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def grid(charts: Iterable[str]) -> str:
    """Return charts next to each other, or below each other where the page is narrow."""
    return '<div class="grid">' + "\n".join(charts) + "</div>"


def chart(display: Any, name: str, description: str, size: tuple[float, float], columns: int = 1) -> str:
    """Return a display as a figure that shrinks with the page; `columns` is its number of axes."""
    with style():
        figure = matplotlib_module("figure").Figure(figsize=size, layout="constrained")
        display.plot(figure.subplots(1, columns, sharex=True, sharey=True))
        svg = _inline_svg(figure, name, description)
    return f'<figure><div class="chart">{svg}</div><figcaption>{escape(description)}</figcaption></figure>'


def drawing(display: Any, name: str, description: str) -> str:
    """Return a display as a figure that fits into a page of 1,000 pixels, and scrolls on a narrower one."""
    with style():
        figure = matplotlib_module("figure").Figure(figsize=display.size)
        display.plot(figure.add_axes((0.0, 0.0, 1.0, 1.0)))
        svg = _inline_svg(figure, name, description)
    width = display.size[0]
    smallest = min(width, _NARROWEST)
    svg = svg.replace("<svg ", f'<svg style="max-width:{width:.2f}in;min-width:{smallest:.2f}in" ', 1)
    box = f'<div class="drawing" tabindex="0" role="group" aria-label="scrolls horizontally">{svg}</div>'
    hint = '<span class="swipe"> Swipe to see all of it.</span>' if width > _PHONE else ""
    return f"<figure>{box}<figcaption>{escape(description)}{hint}</figcaption></figure>"


def _inline_svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as an `svg` element: text stays text, and identifiers begin with `name`."""
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib_module().rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the reader's browser has other fonts
        figure.savefig(buffer, format="svg", metadata=nothing, dpi=150)
    text = _NAME.sub(rf"\g<1>{name}-", _DROPPED.sub("", buffer.getvalue()))
    label = f'role="img" aria-label="{escape(description)}"'
    return _OPENING.sub(lambda opening: f"<svg {opening[1]} {label}>", text, count=1).strip()
