"""Every error is one line that says what to do, and leaves no file behind."""

import os
from pathlib import Path

import pytest

from cli.samples import FAST
from neuralforest.cli import main

pytest.importorskip("pyarrow")

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
    "strings.csv": "size,kind,price,sold\nbig,oak,1,yes\n",
    "stray.csv": "size,price\n" + "".join(f"{n},{n}.5\n" for n in range(18)) + "n/k,1\n,2\n",
    "stray-target.csv": "size,price\n" + "".join(f"{n},{n}.5\n" for n in range(18)) + "1,n/k\n",
    "commas.csv": "size;price\n1,5;1\n2;2.5\n-3,25;3\n1.000,5;3\n",
    "dates.csv": "day,price\n2024-01-31,1\n2024-02-01 10:30,2.5\n,3\n",
    "german.csv": "day,price\n31.01.2024,1\n1.2.24,2.5\n",
    "months.csv": "day,price\n31 Jan 2024,1\nFebruary 1, 2024,2.5\n2024-Mar-02,3\n".replace("ry 1,", "ry 1"),
    "times.csv": "day,price\n9:05 PM,1\n21:05:30,2.5\n",
    "percent.csv": "size,price\n1.5%,1\n-2%,2.5\n3.25 %,3\n",
    "dollars.csv": 'size,price\n"$1,500",1\n-$2,2.5\n3 €,3\n',
    "many-strays.csv": "size,price\n" + "".join(f"unknown,{n}.5\n{n}.25,{n}.5\n" for n in range(30)),
    "table.json": "[1, 2]",
    "catboost.json": '{"features_info": {}, "oblivious_trees": []}',
    "lightgbm.json": '{"tree_info": []}',
    "table.txt": "size price\n1 2\n",
    "half.txt": "tree\nversion=v4\nnum_tree_per_iteration=1\n",
    "many.txt": "tree\nnum_tree_per_iteration=99999999999\nTree=0\nend of trees\n",
    "lacking.csv": "size,price\n1,2\n",
    "wrong.parquet": "no parquet",
    "latin.csv": "größe\n1\n".encode("latin-1"),
    **{f"binary.{ending}": bytes(range(256)) for ending in ("nforest", "skops", "json")},
}


def fit(file, *options, target="price", out="new.nforest"):
    return ("fit", file, "--target", target, "--out", out, *options)


def convert(file):
    return ("convert", file, "--out", "n")


def predict(file):
    return ("predict", "m.nforest", file)


WRONG = [
    (fit("none.csv"), "'none.csv': No such file or directory: check the path"),
    (fit("."), "'.': Is a directory: a file is needed, not a folder"),
    (fit("empty.csv"), "'empty.csv' is empty: it needs a row of column names, and rows of values"),
    (fit("header.csv"), "'header.csv' has column names but no rows: add rows below the names"),
    (
        fit("blank.csv"),
        "column 'price' is the target and must not have missing values, got nan in row 2 and in 1 more: fill or drop",
    ),
    (fit("twice.csv"), "has more than one column 'a': column names must be unique"),
    (fit("ragged.csv"), "has rows with more values than there are columns"),
    (fit("wide.csv"), "has rows with more values than there are columns"),
    (fit("semicolons.csv"), "has one column, 'a;b': set --separator to the separator of its values"),
    (fit("one.csv"), "the table must have other columns than the target 'price', got none: add features"),
    (fit("constant.csv", target="b"), "must hold at least two classes, got only x: add rows of another"),
    (fit("infinite.csv"), "column 'size' must hold numbers below 3.4e+38, got 'inf' in row 1: correct it"),
    (
        fit("stray.csv"),
        "column 'size' must hold numbers, as in 18 rows, got 'n/k' in row 19: correct it, empty it, or set "
        "--categorical 'size' if its values are categories",
    ),
    (fit("stray.csv", "--test", "0.5"), "column 'size' must hold numbers, as in 18 rows, got 'n/k' in row 19: correct"),
    (
        fit("stray-target.csv"),
        "column 'price' must hold numbers, as in 18 rows, got 'n/k' in row 19: correct it, empty it, or set --task "
        "classification if its values are classes",
    ),
    (
        fit("commas.csv", "--separator", ";"),
        "column 'size' must hold numbers with a decimal point, got '1,5' in row 1 and in 2 more: replace commas in",
    ),
    (
        fit("dates.csv"),
        "column 'day' must hold numbers or categories, not dates or times, got '2024-01-31' in row 1 and in 1 more",
    ),
    (fit("german.csv"), "column 'day' must hold numbers or categories, not dates or times, got '31.01.2024' in row 1"),
    (fit("months.csv"), "column 'day' must hold numbers or categories, not dates or times, got '31 Jan 2024' in row 1"),
    (fit("times.csv"), "column 'day' must hold numbers or categories, not dates or times, got '9:05 PM' in row 1 and"),
    (fit("percent.csv"), "column 'size' must hold numbers without units, got '1.5%' in row 1 and in 2 more: remove"),
    (fit("dollars.csv"), "column 'size' must hold numbers without units, got '$1,500' in row 1 and in 2 more: remove"),
    (
        fit("many-strays.csv"),
        "column 'size' must hold numbers, as in 30 rows, got 'unknown' in row 1 and in 29 more: correct it, empty it",
    ),
    (fit("many-strays.csv", "--test", "0.5"), "column 'size' must hold numbers, as in 30 rows, got 'unknown' in row 1"),
    (fit("trees.csv", "--categorical", "colour"), "the table has no column 'colour': choose one of"),
    (fit("wrong.parquet"), "is not a Parquet file: a CSV file must have a name that ends in .csv"),
    (fit("latin.csv"), "is not encoded in UTF-8: save it as CSV in UTF-8, or as Parquet"),
    (fit("trees.csv", target="cost"), "the table has no column 'cost': choose one of 'size', 'kind', 'price'"),
    (fit("trees.csv", "--drop", "colour"), "the table has no column 'colour': choose one of"),
    (fit("trees.csv", "--drop", "price"), "the target 'price' must not be among the columns to --drop"),
    (fit("trees.csv", "--task", "regression", target="kind"), "must hold numbers for regression, got 'ash' in row 1"),
    (fit("trees.csv", "--test", "0.999"), "--test must leave training rows, and 0.999 of 60 rows is all of them"),
    (fit("trees.csv", out="no/n"), "no' does not exist: create it, or choose another --out"),
    (fit("trees.csv", out="."), "'.' is a folder: set --out to a file"),
    (predict("lacking.csv"), "lacks 'kind'; it has 'size', 'price': add or rename columns"),
    (predict("strings.csv"), "column 'size' must hold numbers, got 'big' in row 1: correct it, or leave it empty"),
    (predict("none.csv"), "'none.csv': No such file or directory: check the path"),
    (predict("header.csv"), "has column names but no rows: add rows below the names"),
    (("info", "binary.nforest"), "is not a neuralforest model file: use a file that nf.save or 'neuralforest fit'"),
    (("info", "empty.csv"), "is empty: use a file that nf.save or 'neuralforest fit' wrote"),
    (("info", "none.nforest"), "No such file or directory: check the path"),
    (convert("binary.nforest"), "the name of the file must end in one of .json (XGBoost), .ubj (XGBoost), .txt (Light"),
    (convert("binary.skops"), "'binary.skops' cannot be converted: it is not a skops file. Supported: "),
    (convert("none.cbm"), "'none.cbm': No such file or directory: check the path"),
    (convert("binary.json"), "'binary.json' cannot be converted: it is not a JSON file"),
    (convert("table.json"), "it is no model of XGBoost, whose save_model('model.json') writes one"),
    (convert("catboost.json"), "it is a model of CatBoost: save it with save_model('model.cbm')"),
    (convert("lightgbm.json"), "it is a dump of a model of LightGBM: save it with booster.save_model('model.txt')"),
    (convert("table.txt"), "it is no model of LightGBM, whose booster.save_model('model.txt') writes one"),
    (convert("half.txt"), "'half.txt' cannot be converted: it is incomplete: save or copy it again"),
    (convert("many.txt"), "it is damaged: num_tree_per_iteration is b'99999999999'"),
]


@pytest.mark.parametrize(("command", "message"), WRONG, ids=[" ".join(command) for command, _ in WRONG])
def test_an_error_is_one_line_that_says_what_to_do(command, message, run):
    for name, text in FILES.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    if command[0] == "predict":
        run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m.nforest", *FAST)
    before = set(os.listdir())
    assert message in run(*command, fails=True)
    assert set(os.listdir()) == before


def test_an_internal_error_is_one_line_unless_the_traceback_is_requested(run, monkeypatch):
    monkeypatch.setattr("neuralforest.cli.info.load", lambda _: 1 / 0)
    message = "ZeroDivisionError: division by zero (set NEURALFOREST_TRACEBACK=1 for the traceback)"
    assert run("info", "m", fails=True) == message
    monkeypatch.setenv("NEURALFOREST_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "m"])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt, 130, "neuralforest: error: interrupted\n"),
        (MemoryError, 1, "neuralforest: error: out of memory: use fewer rows, columns or trees\n"),
    ],
)
def test_an_interrupt_and_a_lack_of_memory_are_one_line(error, code, message, monkeypatch, capsys):
    def fail(_):
        raise error

    monkeypatch.setattr("neuralforest.cli.info.load", fail)
    assert main(["info", "m"]) == code
    assert capsys.readouterr().err == message


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
def test_an_invalid_command_exits_with_2_and_its_usage(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: neuralforest")
