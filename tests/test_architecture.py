"""The architecture holds: imports go one way, old words are gone, files and functions stay small."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "neuralforest"

LAYERS = [
    {"exceptions", "_compat", "_parallel", "_atomic", "_extras", "_statistics", "_frames", "_kernels", "datasets"},
    {"ensemble"},
    {"readers", "network"},
    {"training", "convert", "theory"},
    {"selection"},
    {"base_models"},
    {"estimators"},
    {"tables"},
    {"persistence", "export"},
    {"plots"},
    {"report"},
    {"cli"},
    {"dask"},
    {"__init__", "__main__"},
]
"""From the bottom to the top; a room imports from its own and from lower layers."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

OLD_WORDS = (
    "companion", "companions", "stopgap", "careful_line", "careful line", "steady_mean", "steady mean", "own_share",
    "said_by", "hopeful", "judge", "judges", "judged", "honest_judges", "by heart", "sharpness", "pull_back",
    "add_outer", "ABREAST", "LANES", "deep trees", "learnt", "BlockRows", "n_blocks",
)  # fmt: skip
"""Whole words that were replaced by the field's own terms."""


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, but for its types."""
    found, tree = set(), ast.parse(path.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("neuralforest")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("neuralforest"):
            names = {alias.name for alias in node.names}
            if node.module == "neuralforest":
                found |= {f"neuralforest.{name}" for name in names - {"__version__"}}
            else:
                found.add(node.module)
    return found


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_no_module_imports_from_a_layer_above():
    wrong = []
    for path in files():
        own = room_of("neuralforest." + str(path.relative_to(SOURCE)).removesuffix(".py").replace("/", "."))
        for module in imported(path):
            if LEVEL[room_of(module)] > LEVEL[own] or (
                LEVEL[room_of(module)] == LEVEL[own] and room_of(module) != own and own not in LAYERS[0]
            ):
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_only_kernels_import_numba_and_only_network_and_training_use_kernels_of_networks():
    for path in files():
        text = path.read_text()
        if "_kernels" not in path.parts:
            assert not re.search(r"^\s*(import|from) numba\b", text, re.M), path
        rooms = {"network", "training", "_kernels"}
        if not rooms & set(path.relative_to(SOURCE).parts):
            assert "_kernels.network" not in text, path


@pytest.mark.parametrize("word", OLD_WORDS)
def test_old_words_are_gone(word):
    documents = [*files(), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)")
    allowed = SOURCE / "persistence" / "old_formats.py"  # which reads files in the old words
    found = [str(path.relative_to(ROOT)) for path in documents if path != allowed and pattern.search(path.read_text())]
    assert found == []


def test_files_and_functions_stay_small():
    large = [str(path.relative_to(ROOT)) for path in files() if path.read_text().count("\n") > 350]
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and _body_length(node) > 45
    ]
    assert (large, long) == ([], [])


def _body_length(node: ast.FunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return node.end_lineno - body[0].lineno + 1
