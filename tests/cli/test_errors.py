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
    "lacking.csv": "size,price\n1,2\n",
    "wrong.parquet": "no parquet",
    "latin.csv": "größe\n1\n".encode("latin-1"),
    "binary.nforest": bytes(range(256)),
}


def fit(file, *options, target="price", out="new.nforest"):
    return ("fit", file, "--target", target, "--out", out, *options)


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
    (("convert", "binary.nforest", "--out", "n"), "cannot be converted: it is not a skops file. Supported: "),
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
