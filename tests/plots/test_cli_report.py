import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuralforest as nf
import small_models
from neuralforest.cli import main

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with tables and models: two fitted to tables, an estimator and a network fitted to arrays."""
    folder = tmp_path_factory.mktemp("report")
    X, y = small_models.regression()
    table = pandas.DataFrame(X, columns=["a", "<i>b</i>", "c", "d"])
    table["kind"] = np.where(X[:, 2] > 0, "x", "y")
    table["price"] = y
    table["label"] = np.where(y > 0, "1", "one")
    table.to_csv(folder / "data.csv", index=False)
    numbers = table.drop(columns="label")
    nf.save(nf.TableModel.learn(numbers, "price", small_models.small()), folder / "price.nforest")
    labels = table.drop(columns="price")
    nf.save(nf.TableModel.learn(labels, "label", small_models.small(True)), folder / "label.nforest")
    nf.save(small_models.small().fit(X, y), folder / "plain.nforest")
    nf.save(nf.convert(small_models.forest().fit(X, y)), folder / "network.nforest")
    pandas.DataFrame(X).assign(price=y).to_csv(folder / "plain.csv", index=False)
    return folder


def report(folder, model, data, *options):
    return main(["report", str(folder / model), str(folder / data), "--out", str(folder / "page.html"), *options])


@pytest.mark.parametrize("model", ["price.nforest", "label.nforest"])
def test_the_report_on_a_model_file_has_the_names_of_the_columns(folder, model, capsys):
    assert report(folder, model, "data.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 120, "out": str(folder / "page.html")}
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "&lt;i&gt;b&lt;/i&gt;" in text
    assert "<i>" not in text
    assert "kind" in text


def test_a_report_encodes_categories_once(folder, monkeypatch):
    given = []
    monkeypatch.setattr("neuralforest.report.write_report", lambda *arguments, **_: given.append(arguments[:3]))
    assert report(folder, "price.nforest", "data.csv") == 0
    ((model, X, y),) = given
    table = pandas.read_csv(folder / "data.csv")
    np.testing.assert_array_equal(model.predict(X), nf.load(folder / "price.nforest").predict(table))
    np.testing.assert_array_equal(y, table["price"])


def test_a_model_without_the_name_of_its_target_needs_the_option(folder, capsys):
    assert report(folder, "plain.nforest", "plain.csv") == 1
    assert "set --target" in capsys.readouterr().err
    assert report(folder, "plain.nforest", "plain.csv", "--target", "price") == 0


@pytest.mark.parametrize(
    ("model", "data", "options", "message"),
    [
        ("network.nforest", "plain.csv", (), "holds a network without its training"),
        ("price.nforest", "plain.csv", (), "lacks 'a'"),
        ("price.nforest", "data.csv", ("--target", "nobody"), "no column 'nobody'"),
        ("price.nforest", "data.csv", ("--target", "a"), "must not be among the features"),
        ("nothing.nforest", "data.csv", (), "check the path"),
    ],
)
def test_errors_are_one_line(folder, model, data, options, message, capsys):
    assert report(folder, model, data, *options) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_it_runs_in_a_shell(folder):
    command = [sys.executable, "-m", "neuralforest", "report", "price.nforest", "data.csv"]
    here = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "report.html: report on 120 rows\n", "")
    assert (folder / "report.html").stat().st_size > 50_000
