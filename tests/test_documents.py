"""Code and words of the README and of the documents: every block of Python runs, and terms are those of the field."""

import ast
import re
from pathlib import Path

import dask.distributed
import matplotlib
import matplotlib.pyplot
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from benchmarks.data import Dataset

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

OLD_WORDS = re.compile(
    r"\b("
    + "|".join(
        [
            "companions?|in good company|own_share|honest_judges|judged?|judges|hopeful|gives no hope|stopgaps?",
            "careful[ _]line|steady[ _]mean|learnt|by heart|made by formulas|deep trees|fewest_rows|share_of_rows",
            "pull_back|without its ice|gives? way|gave way|says? more than|what it says|(stand|stay)s? beside",
        ]
    )
    + r")\b",
    re.IGNORECASE,
)


def blocks(page):
    return [each for each in BLOCK.findall(page.read_text(encoding="utf-8")) if ">>>" not in each]


class ClientOfThreads(dask.distributed.Client):
    """The client of a cluster in this process, in place of one whose address is on the page."""

    def __init__(self, *arguments, **options):
        super().__init__(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")


def synthetic(name):
    X, y = make_friedman1(200, random_state=0)
    return Dataset(name, pd.DataFrame(X).add_prefix("x"), y, "regression")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.setattr("benchmarks.data.load", synthetic)  # their data are not part of the repository
    monkeypatch.setattr("distributed.Client", ClientOfThreads)
    (tmp_path / "rows").mkdir()
    rows = synthetic("rows")
    rows.X.assign(y=rows.y).to_parquet(tmp_path / "rows" / "0.parquet")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
    if "client" in names:
        names["client"].close()
    matplotlib.pyplot.close("all")


def test_pages_have_code_to_run():
    assert sum(bool(blocks(page)) for page in PAGES) > 10


def texts():
    """Yield the name and the text of every document, and every docstring and message of the package."""
    for page in (*PAGES, *sorted((ROOT / "docs" / "development").glob("*.md")), ROOT / "CONTRIBUTING.md"):
        yield page.name, page.read_text(encoding="utf-8")
    for file in sorted((ROOT / "src").rglob("*.py")):
        if file.name == "old_formats.py":  # it reads the old names
            continue
        strings = [
            node.value
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        yield str(file.relative_to(ROOT)), "\n".join(strings)
    for file in sorted((ROOT / "docs" / "examples").glob("*.py")):
        yield file.name, file.read_text(encoding="utf-8")


def test_documents_and_docstrings_use_the_terms_of_the_field():
    found = [f"{name}: {match.group()}" for name, text in texts() for match in OLD_WORDS.finditer(text)]
    assert found == []


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_table_of_the_readme_is_that_of_the_runs():
    from benchmarks.accuracy.readme import README, table

    assert table(pd.read_csv(ROOT / "benchmarks" / "results" / "accuracy.csv")) in README.read_text(encoding="utf-8")


def test_the_numbers_of_the_documents_are_those_of_the_results():
    from benchmarks import documents

    found = documents.numbers()
    stale = [
        page.name
        for page in documents.PAGES
        if documents.filled(page.read_text("utf-8"), found) != page.read_text("utf-8")
    ]
    assert stale == [], "run python -m benchmarks.documents"


def test_one_version_is_named_everywhere():
    import tomllib

    import neuralforest

    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(
        r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )
    assert neuralforest.__version__ == version == released[0]
    assert f"\nversion: {version}\n" in citation
