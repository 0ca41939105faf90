"""Commands in a real shell: exit codes, pipes, the documented commands, and the demonstration without extras."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from cli.samples import pandas
from neuralforest._kernels.jit import kernel_directory

pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]


def test_the_exit_code_and_the_error_reach_the_shell(shell):
    out, err, code = shell("neuralforest fit none.csv --target y --out m.nforest")
    assert (out, err, code) == ("", "neuralforest: error: 'none.csv': No such file or directory: check the path\n", 1)


def test_a_closed_pipe_is_no_error(shell):
    pandas.DataFrame({"x": np.arange(200_000.0)}).to_csv("long.csv", index=False)
    nf.save(nf.convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])), "m")
    out, err, _ = shell("{ neuralforest predict m long.csv; echo code $? >&2; } | head -n 1")
    assert (out, err) == ("prediction\n", "code 0\n")


def test_the_documented_commands_run(shell):
    pytest.importorskip("lightgbm")
    pytest.importorskip("skops")
    text = (ROOT / "docs" / "command-line.md").read_text()
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert len(commands) == 12
    kept = [line for line in commands if "demo" not in line and "--help" not in line]  # these have tests of their own
    script = "\n".join(["set -e", *kept]).replace("--test", "--epochs 2 --trees 5 --connectivity sparse --test")
    assert script.count("/opt/kernels") == 1
    kernels = Path(kernel_directory()).parent if kernel_directory() else "kernels"  # not outside of the tests' folders
    out, err, code = shell(script.replace("/opt/kernels", str(kernels)))
    assert code == 0, err
    assert out.endswith("5\n")
    with open("predictions.csv") as file:
        assert len(list(csv.reader(file))) == 570


WITHOUT_EXTRAS = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow", "skops", "lightgbm"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
from neuralforest.cli import main
assert main(["demo"]) == 0
assert main(["fit", "trees.csv", "--target", "price", "--out", "m"]) == 1
assert main(["convert", "m.skops", "--out", "m"]) == 1
open("m.txt", "w").write("tree/num_tree_per_iteration=1/Tree=0/end of trees".replace("/", chr(10)))
assert main(["convert", "m.txt", "--out", "m"]) == 1
"""


def test_the_demonstration_needs_no_extras_and_other_commands_name_theirs(shell):
    out, err, code = shell(f"python -c '{WITHOUT_EXTRAS}'")
    assert code == 0, err
    for part in (
        "growing a forest of",
        "largest difference from the forest's predictions",
        "softening it",
        "training one network per tree, validated on the out-of-bag rows of the tree",
    ):
        assert out.count(part) == 2
    assert "60 of 60 trees improved" in out  # all of the forest, which is not stacked
    assert "warning" not in err
    assert "Test scores (held-out rows):" in out
    assert re.search(r"diabetes +RMSE( +[\d.]+){4} +[+-][\d.]+%", out)
    assert re.search(r"breast cancer +log loss( +[\d.]+){4} +[+-][\d.]+%", out)
    assert "random forest  its forest  its network  default model" in out
    assert out.splitlines()[-1] == "Next: python -m pydoc neuralforest.NeuralForestRegressor"
    assert "error: this needs pandas, which is not installed: pip install 'neuralforest[cli]'" in err
    assert "error: this needs lightgbm, which is not installed: pip install 'neuralforest[lightgbm]'" in err
    assert "error: this needs skops, which is not installed: pip install 'neuralforest[skops]'" in err
