"""The paper's table as Markdown and as an HTML page, with our results and the published ones."""

import html
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.common import markdown_table
from benchmarks.paper.plan import ALL_SETS, AUTHORS, MODELS, SETS, VARIANTS, Results, read
from benchmarks.paper.table import (
    CLAIM,
    FOREST_MODELS,
    WITHIN,
    Cells,
    Comparison,
    agreement,
    cells,
    claim,
    find,
    labels,
    published,
    verdict,
)

TITLE = "Neural Random Forests: reproduction of the paper's table"
INTRODUCTION = (
    "Test RMSE, mean (standard deviation) over random splits into 50% training, 25% validation and 25% test rows. "
    "Each cell: our result with its number of runs, the paper's result, and the comparison: `within` two of the "
    "paper's standard deviations, `below` (a smaller error) or `above` (a larger one)."
)
TIMINGS = "Median seconds per run"


class Entry(NamedTuple):
    """The content of a cell; `ours` and `verdict` are empty where there are no runs."""

    ours: str
    paper: str
    verdict: str


class Section(NamedTuple):
    """A table with its heading."""

    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, list[Entry]]]


def write_tables(results: Path, command: str) -> list[Path]:
    """Write the tables next to a file of finished runs; return their paths."""
    found = read(results)
    stamp = stamp_of(found, command)
    written = []
    for suffix, text in ((".md", markdown(found, stamp)), (".html", page(found, stamp))):
        path = results.with_suffix(suffix)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def sections(table: Cells) -> Iterator[Section]:
    """Yield one table per variant; models without a forest are in the first."""
    for variant, description in VARIANTS.items():
        columns = MODELS if variant == AUTHORS else FOREST_MODELS
        rows = [(labels()[data], [_entry(table, data, model, variant) for model in columns]) for data in ALL_SETS]
        yield Section(f"{variant.capitalize()}: {description}", columns, rows)


def _entry(table: Cells, data: str, model: str, variant: str) -> Entry:
    cell, paper = find(table, data, model, variant), published()[data, model]
    if cell is None:
        return Entry("", paper.text, "")
    runs = "1 run" if cell.repetitions == 1 else f"{cell.repetitions} runs"
    return Entry(f"{cell}, {runs}", paper.text, verdict(cell, paper))


def findings(results: Results) -> list[str]:
    """Return a summary of the table in sentences."""
    table, sentences = cells(results), []
    for variant in VARIANTS:
        verdicts = {data: agreement(table, variant)[data] for data in SETS}
        every = [each for row in verdicts.values() for each in row.values()]
        whole = [labels()[data] for data, row in verdicts.items() if list(row.values()) == 5 * [WITHIN]]
        sentences.append(
            f"{variant.capitalize()}: {every.count(WITHIN)} of {len(every)} RF and NRF cells are within two of the "
            f"paper's standard deviations; all five of a set are on {len(whole)} of {len(SETS)} sets "
            f"({', '.join(whole) or 'none'})."
        )
    for variant in VARIANTS:
        answer, failures = claim(results, variant)
        where = "; ".join(f"{labels()[each.data]}, {each.model}: {_against(each)}" for each in failures)
        sentences.append(f'"{CLAIM}", {variant}: {answer}{f" ({where})" if where else ""}.')
    return sentences


def _against(comparison: Comparison) -> str:
    if comparison.network == comparison.forest:
        return f"{comparison.forest:.4g}, the guard kept the forest"
    return f"{comparison.network:.4g} against {comparison.forest:.4g}"


def timings(results: Results) -> list[list[str]]:
    """Return the median seconds per run, one row per data set."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for run, measured in results.items():
        seconds.setdefault((run.data, run.model), []).append(measured.seconds)
    medians = {key: f"{median(values):.3g}" for key, values in seconds.items()}
    return [[labels()[data], *(medians.get((data, model), "") for model in MODELS)] for data in ALL_SETS]


def stamp_of(results: Results, command: str) -> str:
    """Return the number of runs, the command, versions and machine."""
    libraries = sorted({library for measured in results.values() for library in measured.versions.split(", ")})
    return (
        f"{len(results)} runs, rendered on {datetime.now(UTC):%Y-%m-%d}. Command: `{command}`. "
        f"Versions: {', '.join(libraries)}, Python {platform.python_version()}. "
        f"Machine: {platform.machine()}, {os.cpu_count()} cores."
    )


def markdown(results: Results, stamp: str) -> str:
    """Return the tables as Markdown."""
    lines = [f"# {TITLE}", "", INTRODUCTION, ""]
    lines += [f"- {sentence}" for sentence in findings(results)]
    for section in sections(cells(results)):
        rows = ([label, *map(_markdown_cell, entries)] for label, entries in section.rows)
        lines += ["", f"## {section.heading}", "", markdown_table(["data", *section.columns], rows)]
    lines += ["", f"## {TIMINGS}", "", markdown_table(["data", *MODELS], timings(results))]
    return "\n".join([*lines, "", stamp, ""])


def _markdown_cell(entry: Entry) -> str:
    if not entry.ours:
        return f"not run<br>paper {entry.paper}"
    answer = entry.verdict if entry.verdict == WITHIN else f"**{entry.verdict}**"
    return f"{entry.ours}<br>paper {entry.paper}<br>{answer}"


_STYLE = """
:root { color-scheme: light dark; --line: #8885; --within: #0072b226; --below: #009e7333; --above: #d55e0040; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 95rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; white-space: nowrap; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th.set { white-space: normal; min-width: 8rem; max-width: 12rem; }
td.within { background: var(--within); } td.below { background: var(--below); } td.above { background: var(--above); }
.paper, .runs, footer { opacity: .75; font-size: .87em; } .verdict { font-weight: 600; font-size: .87em; }
"""


def page(results: Results, stamp: str) -> str:
    """Return the tables as a self-contained HTML page."""
    body = [f"<h1>{html.escape(TITLE)}</h1>", f"<p>{_code(INTRODUCTION)}</p>", "<ul>"]
    body += [f"<li>{html.escape(sentence)}</li>" for sentence in findings(results)]
    body.append("</ul>")
    for section in sections(cells(results)):
        rows = [(label, "".join(map(_html_cell, entries))) for label, entries in section.rows]
        body += _html_table(section.heading, section.columns, rows)
    times = [(label, "".join(f"<td>{number}</td>" for number in numbers)) for label, *numbers in timings(results)]
    body += _html_table(TIMINGS, MODELS, times)
    body.append(f"<footer><p>{_code(stamp)}</p></footer>")
    head = f'<meta charset="utf-8"><title>{html.escape(TITLE)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(body) + "\n</body></html>\n"


def _html_table(heading: str, columns: Sequence[str], rows: Iterable[tuple[str, str]]) -> list[str]:
    heads = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    return [
        f'<h2>{html.escape(heading)}</h2><div class="scroll"><table><tr><th>data</th>{heads}</tr>',
        *(f'<tr><th class="set">{html.escape(label)}</th>{cells}</tr>' for label, cells in rows),
        "</table></div>",
    ]


def _html_cell(entry: Entry) -> str:
    paper = f'<span class="paper">paper {entry.paper}</span>'
    if not entry.ours:
        return f"<td>not run<br>{paper}</td>"
    ours, _, runs = entry.ours.partition(", ")
    parts = f'<b>{ours}</b> <span class="runs">{runs}</span>', paper, f'<span class="verdict">{entry.verdict}</span>'
    return f'<td class="{entry.verdict}">{"<br>".join(parts)}</td>'


def _code(text: str) -> str:
    """Escape text and render parts in backquotes as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
