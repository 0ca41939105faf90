"""The command line: through a real shell where the process matters, else by a call of `main`."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from neuralforest.cli import COMMANDS, build_parser, main

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("NEURALFOREST_DATA", ROOT.parent / "shared" / "data"))
FAST = ["--trees", "3", "--epochs", "1", "--connectivity", "sparse", "--jobs", "1"]


def rows(n=60):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(2)
    kind = np.array(["oak", "ash", "elm"])[rng.integers(3, size=n)]
    return pandas.DataFrame(
        {
            "size": np.where(np.arange(n) % 9 == 0, np.nan, size),
            "kind": kind,
            "price": (size**2 + (kind == "oak")).round(3),
            "sold": np.where(size > 0, "yes", "no"),
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows().to_csv("trees.csv", index=False)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Runs a command; returns its standard output, or its one line of error with the exit code expected to be 1."""

    def run(*argv, fails=False):
        code = main([str(part) for part in argv])
        out, err = capsys.readouterr()
        if not fails:
            assert code == 0, err
            run.said = err
            return out
        assert code == 1
        lines = err.splitlines()
        assert lines[-1].startswith("neuralforest: error: ")
        assert not [line for line in lines if "Traceback" in line]
        return lines[-1].removeprefix("neuralforest: error: ")

    return run


def answers(text):
    return pandas.read_csv(io.StringIO(text))


# --- fit, predict, info -----------------------------------------------------------------------------------------------


def test_fit_says_what_it_does_and_predict_gives_the_models_predictions(run):
    out = run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m.nforest", "--test", "0.25", *FAST)
    assert "task: regression, because the target holds fractions (--task classification for the other)" in run.said
    assert "growing a forest on 45 rows" in run.said
    assert "epoch 1 of 1" in run.said
    assert re.search(r"m.nforest: regression of 'price', 60 rows, 2 columns, [\d.]+ s", out)
    assert "columns of texts, encoded in alphabetical order: 'kind'" in out
    assert len(re.findall(r"RMSE +[\d.]+ +[\d.]+ +[+-][\d.]+%", out)) == 2  # validation, test
    printed = answers(run("predict", "m.nforest", "trees.csv"))
    assert "not used, because the model does not know them: columns 'sold'" in run.said
    assert list(printed) == ["prediction"]
    model = nf.load("m.nforest")
    assert_array_equal(printed["prediction"], model.predict(rows()))
    assert model.columns[1].categories == ("ash", "elm", "oak")


def test_the_order_of_columns_the_kind_of_file_and_the_destination_do_not_matter(run):
    run("fit", "trees.csv", "--target", "price", "--out", "a.nforest", *FAST)
    rows().to_parquet("trees.parquet")
    run("fit", "trees.parquet", "--target", "price", "--out", "b.nforest", *FAST)
    rows()[["sold", "kind", "price", "size"]].to_csv("other.csv", index=False, sep=";")
    first = run("predict", "a.nforest", "trees.csv")
    assert run("predict", "b.nforest", "trees.parquet") == first
    assert run("predict", "a.nforest", "other.csv", "--separator", ";") == first
    assert run("predict", "a.nforest", "trees.csv", "--out", "p.csv") == "p.csv: 60 rows\n"
    assert Path("p.csv").read_text() == first


def test_the_same_seed_gives_the_same_file_whatever_the_number_of_threads(run):
    for name, jobs in (("a", "1"), ("b", "2")):
        run("fit", "trees.csv", "--target", "price", "--out", name, *FAST[:-2], "--jobs", jobs, "--seed", "7")
    first, second = nf.load("a"), nf.load("b")
    assert_array_equal(first.predict(rows()), second.predict(rows()))


def test_classes_keep_their_labels_and_have_probabilities(run):
    out = run("fit", "trees.csv", "--target", "sold", "--out", "m", "--validation", "0.3", *FAST)
    assert "classification of 'sold'" in out
    assert "log loss" in out
    printed = answers(run("predict", "m", "trees.csv", "--proba"))
    assert list(printed) == ["prediction", "probability_no", "probability_yes"]
    assert set(printed["prediction"]) <= {"yes", "no"}
    assert_allclose(printed["probability_no"] + printed["probability_yes"], 1, atol=1e-6)


def test_unseen_categories_become_missing_with_a_warning(run):
    run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m", *FAST)
    new = rows(3).assign(kind=["oak", "yew", "fir"])
    new.to_csv("new.csv", index=False)
    new.assign(kind=["oak", None, None]).to_csv("missing.csv", index=False)
    printed = run("predict", "m", "new.csv")
    assert (
        "warning: column 'kind' holds 'fir', 'yew', which the model has not seen: taken as missing in 2 of 3"
        in run.said
    )
    assert printed == run("predict", "m", "missing.csv")


def test_json_is_for_machines(run):
    fitted = json.loads(run("fit", "trees.csv", "--target", "sold", "--out", "m", *FAST, "--json", "--quiet"))
    assert run.said == ""
    assert (fitted["task"], fitted["rows"], fitted["columns"][1]["categories"]) == (
        "classification",
        60,
        ["ash", "elm", "oak"],
    )
    assert set(fitted["scores"]["validation"]) == {"forest", "network"}
    predicted = json.loads(run("predict", "m", "trees.csv", "--json", "--proba"))
    assert predicted["predictions"]["prediction"] == nf.load("m").predict(rows()).tolist()
    assert json.loads(run("predict", "m", "trees.csv", "--json", "--out", "p.csv")) == {"rows": 60, "out": "p.csv"}
    facts = json.loads(run("info", "m", "--json"))
    assert (facts["trees"], facts["classes"], facts["target"]) == (3, ["no", "yes"], "sold")


def test_info_tells_about_every_kind_of_model(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST)
    out = run("info", "m")
    for part in ("NeuralForestRegressor", "size: numbers", "kind: texts: 'ash', 'elm', 'oak'", "RMSE", "trees   "):
        assert part in out
    model = nf.load("m").model
    nf.save(nf.ForestNetwork(model.network_.ensemble), "network")
    assert "ForestNetwork" in run("info", "network")
    X = np.random.default_rng(0).normal(size=(30, 2))
    forest = RandomForestRegressor(2, max_leaf_nodes=3)
    several = nf.NeuralForestRegressor(forest, max_epochs=1, contrast=(3, 1), connectivity="sparse").fit(X, X)
    nf.save(several, "several")
    assert "loss" in run("info", "several")
    pandas.DataFrame(X).to_csv("X.csv", index=False)
    assert list(answers(run("predict", "several", "X.csv"))) == ["prediction_1", "prediction_2"]


def test_models_from_python_find_their_columns_by_name_or_by_order(run):
    frame = rows()[["size", "price"]].dropna()
    parameters = {"max_epochs": 1, "contrast": (3, 1), "connectivity": "sparse", "random_state": 0}
    forest = RandomForestRegressor(2, max_leaf_nodes=3)
    for X in (frame, frame.to_numpy()):
        model = nf.NeuralForestRegressor(forest, **parameters).fit(X, frame["price"])
        nf.save(model, "m")
        frame.to_csv("X.csv", index=False)
        assert_array_equal(answers(run("predict", "m", "X.csv"))["prediction"], model.predict(X))
    assert "knows its 2 columns by their order only, and the table has 4" in run(
        "predict", "m", "trees.csv", fails=True
    )


def test_identifiers_and_row_numbers_are_pointed_at(run):
    rows().assign(name=[f"tree {n}" for n in range(60)]).to_csv("named.csv")  # with pandas's nameless numbers of rows
    run("fit", "named.csv", "--target", "price", "--out", "m", *FAST)
    assert "column 'name' has a text of its own in almost every row: --drop 'name' if it is a name" in run.said
    assert "warning: 'Unnamed: 0' has no name in 'named.csv': if it numbers the rows, fit with --drop" in run.said


# --- what goes wrong --------------------------------------------------------------------------------------------------

FILES = {
    "empty.csv": "",
    "header.csv": "size,kind,price,sold\n",
    "blank.csv": "size,kind,price\n1,oak,2\n2,ash,\n3,elm,\n",
    "twice.csv": "a,b,a\n1,2,3\n",
    "ragged.csv": "a,b\n1,2\n1,2,3\n",
    "wide.csv": "a,b\n1,2,3\n4,5,6\n",
    "semicolons.csv": "a;b\n1;2\n",
    "one.csv": "price\n1\n2\n",
    "constant.csv": "a,b\n1,x\n2,x\n",
    "infinite.csv": "size,kind,price\ninf,oak,1\n2,ash,2.5\n",
    "texts.csv": "size,kind,price,sold\nbig,oak,1,yes\n",
    "lacking.csv": "size,price\n1,2\n",
    "wrong.parquet": "no parquet",
    "latin.csv": "größe\n1\n".encode("latin-1"),
    "binary.nforest": bytes(range(256)),
}
FIT = ("fit", "{}", "--target", "price", "--out", "new.nforest")
PREDICT = ("predict", "m.nforest", "{}")
WRONG = {
    "none.csv": (FIT, "'none.csv': No such file or directory: check the path"),
    ".": (FIT, "'.': Is a directory: name a file, not a folder"),
    "empty.csv": (FIT, "is empty: it needs a row of names, and rows of values"),
    "header.csv": (FIT, "holds names of columns but no rows: add rows below the names"),
    "blank.csv": (
        FIT,
        "column 'price' is the target and must not miss values, got nan in row 2 and in 1 more: fill it in",
    ),
    "twice.csv": (FIT, "has more than one column 'a': give every column a name of its own"),
    "ragged.csv": (FIT, "has rows with more values than there are names"),
    "wide.csv": (FIT, "has rows with more values than there are names"),
    "semicolons.csv": (FIT, "has one column, 'a;b': set --separator to what separates its values"),
    "one.csv": (FIT, "the table must have columns beside the target 'price', got none"),
    "constant.csv": (("fit", "{}", "--target", "b", "--out", "n"), "must hold at least two classes, got x only"),
    "infinite.csv": (FIT, "column 'size' must hold numbers below 3.4e+38, got 'inf' in row 1: correct it"),
    "wrong.parquet": (FIT, "is not a Parquet file"),
    "latin.csv": (FIT, "is not a text in UTF-8: save it as CSV in UTF-8, or as Parquet"),
    "trees.csv": (
        ("fit", "{}", "--target", "cost", "--out", "n"),
        "no column 'cost': choose one of 'size', 'kind', 'price'",
    ),
    "./trees.csv": ((*FIT, "--drop", "colour"), "the table has no column 'colour': choose one of"),
    "././trees.csv": ((*FIT, "--drop", "price"), "the target 'price' must not be among the columns to --drop"),
    "./././trees.csv": (
        ("fit", "{}", "--target", "kind", "--out", "n", "--task", "regression"),
        "must hold numbers for a",
    ),
    "../{here}/trees.csv": (
        ("fit", "{}", "--target", "price", "--out", "no/n"),
        "to write to: create it, or choose another --out",
    ),
    "lacking.csv": (PREDICT, "lacks 'kind'; it has 'size', 'price': add or rename columns"),
    "texts.csv": (PREDICT, "column 'size' must hold numbers, got 'big' in row 1: correct it, or leave it empty"),
    "./none.csv": (PREDICT, "'./none.csv': No such file or directory: check the path"),
    "./header.csv": (PREDICT, "holds names of columns but no rows: add rows below the names"),
    "binary.nforest": (("info", "{}"), "does not begin as a neuralforest model file does: name a file that"),
    "./empty.csv": (("info", "{}"), "is empty: name a file that nf.save or 'neuralforest fit' wrote"),
    "none.nforest": (("info", "{}"), "No such file or directory: check the path"),
    "./binary.nforest": (("convert", "{}", "--out", "n"), "cannot be converted: it is not a skops file. Supported: "),
}


@pytest.mark.parametrize("file", WRONG)
def test_every_error_is_one_line_that_says_what_to_do(file, run, folder):
    for name, text in FILES.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    command, message = WRONG[file]
    if command is PREDICT:
        run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m.nforest", *FAST)
    before = set(os.listdir())
    assert message in run(*(part.format(file.format(here=folder.name)) for part in command), fails=True)
    assert set(os.listdir()) == before


def test_probabilities_need_classes(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST)
    assert "--proba needs a model of classes, and this one predicts a number" in run(
        "predict", "m", "trees.csv", "--proba", fails=True
    )


def test_a_bug_is_one_line_too_unless_asked_for(run, monkeypatch):
    monkeypatch.setattr("neuralforest.cli.info.load", lambda _: 1 / 0)
    assert (
        run("info", "m", fails=True)
        == "ZeroDivisionError: division by zero (set NEURALFOREST_TRACEBACK=1 to see where)"
    )
    monkeypatch.setenv("NEURALFOREST_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "m"])


def test_ctrl_c_and_lack_of_memory_are_one_line(monkeypatch, capsys):
    for error, code, message in (
        (KeyboardInterrupt, 130, "stopped"),
        (MemoryError, 1, "use fewer rows, columns or trees"),
    ):
        monkeypatch.setattr("neuralforest.cli.info.load", lambda _, error=error: (_ for _ in ()).throw(error))
        assert main(["info", "m"]) == code
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["grow"],
        ["fit", "trees.csv", "--target", "price"],
        ["fit", "trees.csv", "--target", "price", "--out", "m", "--epochs", "0"],
        ["fit", "trees.csv", "--target", "price", "--out", "m", "--test", "1.5"],
        ["fit", "trees.csv", "--target", "price", "--out", "m", "--validation", "some"],
    ],
)
def test_a_mistaken_command_ends_with_2_and_its_usage(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: neuralforest")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples_that_are_right(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    examples = [line.split()[1:] for line in text.partition("examples:")[2].splitlines() if "  neuralforest " in line]
    assert examples
    for example in examples:
        build_parser().parse_args(example[: example.index(">")] if ">" in example else example)


# --- convert ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_leaf_nodes=4),
        RandomForestRegressor(2, max_leaf_nodes=4),
        RandomForestClassifier(2, max_leaf_nodes=4),
        ExtraTreesClassifier(2, max_leaf_nodes=4),
        BaggingRegressor(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_from_skops_files_predict_the_same(model, run):
    skops = pytest.importorskip("skops.io")
    X = np.random.default_rng(0).normal(size=(40, 3))
    model.fit(X, X[:, 0] > 0 if "Classifier" in type(model).__name__ else X[:, 0])
    skops.dump(model, "m.skops")
    assert type(model).__name__ in run("convert", "m.skops", "--out", "m.nforest")
    pandas.DataFrame(X).to_csv("X.csv", index=False)
    assert_allclose(
        answers(run("predict", "m.nforest", "X.csv"))["prediction"].astype(float), model.predict(X).astype(float)
    )


def tampered(change):
    """A skops file of a tree whose description was changed."""
    skops = pytest.importorskip("skops.io")
    X = np.random.default_rng(0).normal(size=(40, 3))
    data = skops.dumps(DecisionTreeRegressor(max_leaf_nodes=4).fit(X, X[:, 0]))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema, members)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("t.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return "t.skops"


def tree_of(schema):
    return schema["content"]["content"]["tree_"]


def set_size(value):
    return lambda schema, _: tree_of(schema)["__reduce__"]["args"]["content"][2].update(content=value)


def lead_astray(schema, members):
    file = tree_of(schema)["content"]["content"]["nodes"]["file"]
    nodes = np.load(io.BytesIO(members[file]))
    nodes["left_child"][0] = 10**9
    buffer = io.BytesIO()
    np.save(buffer, nodes)
    members[file] = buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_size("1000000000"), "a tree does not have the sizes that the file states"),
        (set_size("-1"), "a tree does not have the sizes that the file states"),
        (
            lambda schema, _: tree_of(schema)["content"]["content"]["node_count"].update(content="9"),
            "does not have the sizes",
        ),
        (lambda schema, _: tree_of(schema)["content"]["content"].pop("nodes"), "it cannot be read (KeyError: 'nodes')"),
        (lead_astray, "a child pointer leads outside of the nodes"),
        (lambda schema, _: schema.update(__class__="SVC"), "it holds a SVC"),
        (lambda schema, _: schema.update(__class__="system", __module__="os"), "it holds a system"),
        (
            lambda schema, _: schema["content"]["content"]["criterion"].update(
                __class__="system", __module__="os", __loader__="TypeNode"
            ),
            "os.system, which is not on the list",
        ),
        (lambda _, members: members.update(bomb=b"0" * 10**7), "it would grow more than 100 times when unpacked"),
    ],
)
def test_forged_skops_files_are_refused(change, message, run):
    assert message in run("convert", tampered(change), "--out", "n.nforest", fails=True)
    assert not Path("n.nforest").exists()


def test_other_models_in_skops_files_are_refused(run):
    skops = pytest.importorskip("skops.io")
    skops.dump(LinearRegression().fit([[0.0], [1.0]], [0, 1]), "m.skops")
    assert "it holds a LinearRegression. Supported: skops files of" in run(
        "convert", "m.skops", "--out", "n", fails=True
    )


# --- a real shell -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path):
    """Runs a script with `neuralforest` and `python` on its path; returns its output, its errors and its exit code."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("neuralforest", "-m neuralforest")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(nf.__file__).parents[1]),
    }

    def shell(script):
        done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=300)
        return done.stdout, done.stderr, done.returncode

    return shell


def test_the_exit_code_and_the_one_line_reach_the_shell(shell):
    out, err, code = shell("neuralforest fit none.csv --target y --out m.nforest")
    assert (out, err, code) == ("", "neuralforest: error: 'none.csv': No such file or directory: check the path\n", 1)


def test_a_reader_that_has_seen_enough_is_no_error(shell):
    pandas.DataFrame({"x": np.arange(200_000.0)}).to_csv("long.csv", index=False)
    nf.save(nf.convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])), "m")
    out, err, _ = shell("{ neuralforest predict m long.csv; echo code $? >&2; } | head -n 1")
    assert (out, err) == ("prediction\n", "code 0\n")


def test_the_commands_of_the_documentation_run(shell):
    text = (ROOT / "docs" / "command-line.md").read_text()
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert len(commands) == 8
    kept = [line for line in commands if "demo" not in line and "--help" not in line]  # these have tests of their own
    out, err, code = shell(
        "set -e\n" + "\n".join(kept).replace("--test", "--epochs 2 --trees 5 --connectivity sparse --test")
    )
    assert code == 0, err
    assert out.endswith("5\n")
    with open("predictions.csv") as file:
        assert len(list(csv.reader(file))) == 570


WITHOUT_PANDAS = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow", "skops"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
from neuralforest.cli import demo, main
demo._EPOCHS = 1
assert main(["demo"]) == 0
assert main(["fit", "trees.csv", "--target", "price", "--out", "m"]) == 1
assert main(["convert", "m.skops", "--out", "m"]) == 1
"""


def test_the_demonstration_needs_no_extras_and_what_does_names_them(shell):
    out, err, code = shell(f"python -c '{WITHOUT_PANDAS}'")
    assert code == 0, err
    for part in (
        "growing a forest of",
        "largest difference from the forest's predictions",
        "softening",
    ):
        assert out.count(part) == 2
    assert re.search(r"diabetes +RMSE +[\d.]+ +[\d.]+ +[+-][\d.]+% +[\d.]+ +[\d.]+", out)
    assert re.search(r"breast cancer +log loss +[\d.]+ +[\d.]+ +[+-][\d.]+% +[\d.]+ +[\d.]+", out)
    assert "error: reading tables needs pandas: pip install 'neuralforest[cli]'" in err
    assert "error: reading skops files needs skops: pip install 'neuralforest[skops]'" in err


@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data are not here; NEURALFOREST_DATA names their folder")
@pytest.mark.parametrize(
    ("file", "task"),
    [
        ("regression/insurance.csv", "regression"),
        ("regression/ames_housing.csv", "regression"),
        ("paper/variants/auto_mpg_398_horsepower_blank.csv", "regression"),
        ("classification/german_credit.csv", "classification"),
        ("classification/vehicle.csv", "classification"),
    ],
)
def test_benchmark_files_are_fitted_and_predicted(file, task, run):
    out = run("fit", DATA / file, "--target", "target", "--out", "m", "--test", "0.3", *FAST)
    assert f"{task} of 'target'" in out
    table = pandas.read_csv(DATA / file)
    printed = answers(run("predict", "m", DATA / file))["prediction"]
    assert len(printed) == len(table)
    if task == "regression":
        assert np.corrcoef(printed, table["target"])[0, 1] > 0.6
    else:
        assert (printed == table["target"]).mean() > 0.5
