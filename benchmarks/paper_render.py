"""The paper's table as Markdown and as an HTML page, ours and the paper's side by side."""

import html
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.paper_plan import ALL_SETS, AUTHORS, MODELS, SETS, VARIANTS, Results, read
from benchmarks.paper_table import (
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

TITLE = "Neural Random Forests: the paper's table, made again"
INTRODUCTION = (
    "Test RMSE, mean (standard deviation) over random splits into 50% training, 25% validation and 25% test rows. "
    "Each cell: ours with its number of runs, then the paper's, then the verdict: `within` two of the paper's standard "
    "deviations, or `below` (a smaller error) or `above` (a larger one)."
)
TIMINGS = "Seconds a run, median"


class Entry(NamedTuple):
    """What a cell shows; all empty where there are no runs."""

    ours: str
    paper: str
    verdict: str


class Section(NamedTuple):
    """A table under its heading."""

    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, list[Entry]]]


def write_tables(results: Path, command: str) -> list[Path]:
    """Write the tables beside a file of finished runs; return where."""
    found = read(results)
    stamp = stamp_of(found, command)
    written = []
    for suffix, text in ((".md", markdown(found, stamp)), (".html", page(found, stamp))):
        path = results.with_suffix(suffix)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def sections(table: Cells) -> Iterator[Section]:
    """Return a table for every variant; models that have no forest are in the first."""
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
    """Return what the table says, in sentences."""
    table, said = cells(results), []
    for variant in VARIANTS:
        verdicts = {data: agreement(table, variant)[data] for data in SETS}
        every = [each for row in verdicts.values() for each in row.values()]
        whole = [labels()[data] for data, row in verdicts.items() if list(row.values()) == 5 * [WITHIN]]
        said.append(
            f"{variant.capitalize()}: {every.count(WITHIN)} of {len(every)} RF and NRF cells are within two of the "
            f"paper's standard deviations; all five of a set are on {len(whole)} of {len(SETS)} sets "
            f"({', '.join(whole) or 'none'})."
        )
    for variant in VARIANTS:
        answer, failures = claim(results, variant)
        where = "; ".join(f"{labels()[each.data]}, {each.model}: {_against(each)}" for each in failures)
        said.append(f'"{CLAIM}", {variant}: {answer}{f" ({where})" if where else ""}.')
    return said


def _against(comparison: Comparison) -> str:
    if comparison.network == comparison.forest:
        return f"{comparison.forest:.4g}, the forest itself was kept"
    return f"{comparison.network:.4g} against {comparison.forest:.4g}"


def timings(results: Results) -> list[list[str]]:
    """Return the median seconds of a run, a row for each data set."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for run, measured in results.items():
        seconds.setdefault((run.data, run.model), []).append(measured.seconds)
    medians = {key: f"{median(values):.3g}" for key, values in seconds.items()}
    return [[labels()[data], *(medians.get((data, model), "") for model in MODELS)] for data in ALL_SETS]


def stamp_of(results: Results, command: str) -> str:
    """Return what made the numbers."""
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
        lines += ["", f"## {section.heading}", ""]
        lines.append(f"| data | {' | '.join(section.columns)} |")
        lines.append("| --- " * (len(section.columns) + 1) + "|")
        for label, entries in section.rows:
            lines.append(f"| {label} | {' | '.join(_markdown_cell(entry) for entry in entries)} |")
    lines += ["", f"## {TIMINGS}", "", f"| data | {' | '.join(MODELS)} |", "| --- " * (len(MODELS) + 1) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in timings(results)]
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
    """Return the tables as an HTML page that needs no other file."""
    body = [f"<h1>{html.escape(TITLE)}</h1>", f"<p>{_code(INTRODUCTION)}</p>", "<ul>"]
    body += [f"<li>{html.escape(sentence)}</li>" for sentence in findings(results)]
    body.append("</ul>")
    for section in sections(cells(results)):
        heads = "".join(f"<th>{html.escape(column)}</th>" for column in section.columns)
        body.append(f'<h2>{html.escape(section.heading)}</h2><div class="scroll"><table><tr><th>data</th>{heads}</tr>')
        for label, entries in section.rows:
            row = "".join(_html_cell(entry) for entry in entries)
            body.append(f'<tr><th class="set">{html.escape(label)}</th>{row}</tr>')
        body.append("</table></div>")
    heads = "".join(f"<th>{html.escape(model)}</th>" for model in MODELS)
    body.append(f'<h2>{TIMINGS}</h2><div class="scroll"><table><tr><th>data</th>{heads}</tr>')
    for label, *numbers in timings(results):
        row = "".join(f"<td>{number}</td>" for number in numbers)
        body.append(f'<tr><th class="set">{html.escape(label)}</th>{row}</tr>')
    body.append("</table></div>")
    body.append(f"<footer><p>{_code(stamp)}</p></footer>")
    head = f'<meta charset="utf-8"><title>{html.escape(TITLE)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(body) + "\n</body></html>\n"


def _html_cell(entry: Entry) -> str:
    paper = f'<span class="paper">paper {entry.paper}</span>'
    if not entry.ours:
        return f"<td>not run<br>{paper}</td>"
    ours, _, runs = entry.ours.partition(", ")
    parts = f'<b>{ours}</b> <span class="runs">{runs}</span>', paper, f'<span class="verdict">{entry.verdict}</span>'
    return f'<td class="{entry.verdict}">{"<br>".join(parts)}</td>'


def _code(text: str) -> str:
    """Escape text, with what stands between backquotes as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
