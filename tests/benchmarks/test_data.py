"""Downloading, checking, reading and splitting, against a local server and against the existing files."""

import filecmp
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from benchmarks import data
from benchmarks.data import __main__ as command
from benchmarks.data import download, sources, tables
from benchmarks.data.tables import DataError, Expected
from data_originals import everything, openml, xls, xlsx, zipped
from data_server import network, no_network

LOCAL = data.data_dir()
needs_data = pytest.mark.skipif(
    not (LOCAL / "paper" / "concrete.csv").is_file(), reason=f"no data in {LOCAL}; see python -m benchmarks.data"
)
TOY = "length,colour,whole,target\n1.5,red,1,-0.25\n2.5,blue,2,4\n0.1,red,3,0.75\n"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Only one data set, "toy", which two hosts provide; data are written to an empty folder."""
    path = tmp_path / "toy.csv"
    path.write_text(TOY)
    frame = tables.read_table(path)
    expected = Expected("regression/toy", 3, 3, 1.5, tables.digest(frame))
    found = tuple(
        sources.Source(host, lambda host=host: download.get_text(f"https://{host}/toy.csv"), floats=("target",))
        for host in ("first.example", "second.example")
    )
    monkeypatch.setattr(data, "load_expected", lambda: {"toy": expected})
    monkeypatch.setattr(command, "SOURCES", {"toy": found})
    monkeypatch.setenv("NEURALFOREST_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "regression" / "toy.csv"


def test_the_sources_are_those_of_the_expected_data_sets():
    assert set(tables.load_expected()) == set(sources.SOURCES)


def test_split_is_half_a_quarter_and_the_rest_of_the_permutation():
    for n in range(1, 30):
        train, validation, test = data.split(n, 3)
        assert_array_equal(np.concatenate([train, validation, test]), np.random.default_rng(3).permutation(n))
        assert (len(train), len(validation)) == (n // 2, n // 4)


def test_the_folder_is_that_of_the_environment_or_the_shared_one(monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALFOREST_DATA", str(tmp_path))
    assert data.data_dir() == tmp_path
    monkeypatch.delenv("NEURALFOREST_DATA")
    assert data.data_dir() == Path(__file__).resolve().parents[3] / "shared" / "data"


def test_encode_numbers_strings_in_sorted_order():
    X = pd.DataFrame({"a": [0.5, 1.5, np.nan], "b": np.array(["red", "blue", "red"], dtype=object)})
    assert_array_equal(data.encode(X), [[0.5, 1], [1.5, 0], [np.nan, 1]])


def test_parsing_rounds_every_number_correctly():
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(2000) * 10.0 ** rng.integers(-20, 20, 2000)
    parsed = tables.parse(pd.DataFrame({"x": [repr(float(x)) for x in exact]}))
    assert_array_equal(parsed["x"].to_numpy(), exact)


def test_strings_with_missing_values_are_rejected():
    with pytest.raises(DataError, match="column 'colour' has strings and missing values"):
        tables.parse(pd.DataFrame({"colour": ["red", None]}))


def test_the_digest_depends_on_names_order_and_values_only(tmp_path):
    frame = tables.parse(pd.read_csv(pd.io.common.StringIO(TOY), dtype=str))
    same = tables.parse(frame.assign(whole=["1.0", "2", "3e0"]))
    assert tables.digest(same) == tables.digest(frame)
    changed = [frame.rename(columns={"length": "width"}), frame[::-1], frame[frame.columns[::-1]]]
    changed += [frame.assign(colour=["red", "blue", "Red"]), frame.assign(length=[1.5, 2.5, np.nextafter(0.1, 1)])]
    assert len({tables.digest(other) for other in [frame, *changed]}) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f[:2], r"expected \(3, 4\) rows and columns, got \(2, 4\)"),
        (lambda f: f[f.columns[::-1]], "the last column must be 'target', got 'length'"),
        (lambda f: f.assign(target=f["target"] + 1), "expected a target mean of 1.5, got 2.5"),
        (lambda f: f.assign(length=f["length"] + 1), "names, order or values differ"),
    ],
)
def test_check_names_the_first_difference(toy, tmp_path, change, message):
    frame = tables.read_table(tmp_path / "toy.csv")
    tables.check(frame, data.load_expected()["toy"])
    with pytest.raises(DataError, match=message):
        tables.check(change(frame), data.load_expected()["toy"])


def test_a_data_set_is_downloaded_checked_written_and_read(toy, capsys):
    with network({"first.example/toy.csv": TOY.encode()}):
        assert command.main([]) == 0
    assert "toy: 3 x 3, downloaded" in capsys.readouterr().out
    assert toy.read_text() == TOY.replace(",4\n", ",4.0\n")
    name, X, y, task = data.load("toy")
    assert (name, task) == ("toy", "regression")
    assert list(X.columns) == ["length", "colour", "whole"]
    assert_array_equal(y, [-0.25, 4, 0.75])


def test_a_good_file_is_kept_without_a_request(toy, tmp_path, capsys):
    toy.parent.mkdir(parents=True)
    toy.write_text(TOY)
    with network({}) as server:
        assert command.main(["toy"]) == 0
    assert server.requested == []
    assert "toy: 3 x 3, exists" in capsys.readouterr().out


@pytest.mark.parametrize("damage", [TOY[:40], "", "\0\1\2", TOY.replace("red", "rod")])
def test_a_damaged_file_is_downloaded_again(toy, damage, capsys):
    toy.parent.mkdir(parents=True)
    toy.write_text(damage)
    with pytest.raises(DataError):
        data.load("toy")
    with network({"first.example/toy.csv": TOY.encode()}):
        assert command.main([]) == 0
    assert "toy: the existing file is not usable" in capsys.readouterr().out
    assert data.load("toy").X.shape == (3, 3)


def test_the_check_downloads_nothing(toy, capsys):
    with network({"first.example/toy.csv": TOY.encode()}) as server:
        assert command.main(["--check"]) == 1
    assert server.requested == []
    assert "1 of 1 data sets are missing: toy" in capsys.readouterr().err


def test_the_next_source_is_tried_when_one_has_other_values_or_none(toy):
    other = TOY.replace("2.5", "2.6").encode()
    for first in (other, 404, b"", b"a,b\n1\n1,2,3\n"):
        with network({"first.example/toy.csv": first, "second.example/toy.csv": TOY.encode()}) as server:
            command.fetch("toy")
        assert server.requested[-1] == "second.example/toy.csv"
        assert data.load("toy").X["length"].tolist() == [1.5, 2.5, 0.1]


def test_nothing_is_written_when_no_source_has_the_right_values(toy):
    other = TOY.replace("2.5", "2.6").encode()
    with network({"first.example/toy.csv": other}), pytest.raises(DataError) as error:
        command.fetch("toy")
    assert "first.example: regression/toy: shape and target mean are right" in str(error.value)
    assert "second.example answered 404 (Not Found) for https://second.example/toy.csv" in str(error.value)
    assert not toy.exists()


def test_transient_failures_are_retried(toy):
    with network({"first.example/toy.csv": [503, 500, TOY.encode()]}) as server:
        command.fetch("toy")
    assert len(server.requested) == 3
    assert toy.is_file()


def test_without_a_network_the_message_names_the_hosts_and_each_is_tried_once(toy, monkeypatch, capsys):
    monkeypatch.setattr(data, "names", lambda: ["toy", "toy"])
    with no_network():
        assert command.main([]) == 1
    out, err = capsys.readouterr()
    assert "toy: failed: first.example could not be reached (Name or service not known)" in out
    assert out.count("Name or service not known") == 2  # one for each host, not for each set
    assert "No answer from first.example, second.example. Is there a network?" in err
    assert "downloaded data sets are kept" in err
    assert not toy.exists()


def test_a_failed_write_leaves_the_old_file(toy, monkeypatch):
    toy.parent.mkdir(parents=True)
    toy.write_text("old")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with network({"first.example/toy.csv": TOY.encode()}), pytest.raises(OSError, match="no space left"):
        command.fetch("toy")
    assert [path.name for path in toy.parent.iterdir()] == ["toy.csv"]
    assert toy.read_text() == "old"


def test_missing_files_and_unknown_names_are_named(toy, capsys):
    with pytest.raises(DataError, match=r"does not exist; download it with `python -m benchmarks\.data toy`"):
        data.load("toy")
    with pytest.raises(DataError, match="there is no data set 'tay'; there are toy"):
        data.load("tay")
    with pytest.raises(SystemExit):
        command.main(["tay"])
    assert "there is no data set 'tay'" in capsys.readouterr().err


def test_openml_sets_arrive_with_all_columns_in_order():
    frame = pd.DataFrame({"a b": ["1.5", "0.1"], "kind": ["x", "y"], "t": ["1", "2"]})
    with network(openml(7, frame, nominal=["kind"])):
        parsed = tables.parse(download.get_openml(7))
    assert list(parsed.columns) == ["a b", "kind", "t"]
    assert_array_equal(parsed["a b"].to_numpy(), [1.5, 0.1])
    assert list(parsed["kind"]) == ["x", "y"]


def test_openml_failures_are_data_errors():
    with network({}), pytest.raises(DataError, match=r"www\.openml\.org answered 404 .* for data set 7"):
        download.get_openml(7)
    with no_network(), pytest.raises(download.UnreachableError, match=r"www\.openml\.org could not be reached"):
        download.get_openml(7)


def test_archives_without_the_file_and_broken_ones_are_rejected():
    files = {"h.example/a.zip": zipped(in__x_dot_csv=b"a\n1\n"), "h.example/b.zip": b"PK"}
    with network(files):
        assert download.get_member("https://h.example/a.zip", "x.csv") == b"a\n1\n"
        with pytest.raises(DataError, match=r"a.zip has no y.csv, only \['Readme.txt', 'in/x.csv'\]"):
            download.get_member("https://h.example/a.zip", "y.csv")
        with pytest.raises(DataError, match=r"b.zip is not a ZIP archive"):
            download.get_member("https://h.example/b.zip", "x.csv")


@pytest.mark.parametrize("make", [xlsx, xls])
def test_workbooks_are_read_without_empty_rows_and_columns(make):
    pytest.importorskip("openpyxl")
    pytest.importorskip("xlrd")
    frame = pd.DataFrame({"a": ["1.5", "0.1"], "b": ["2", "61.88736576"]})
    (sheet,) = download.read_excel(make(frame))
    assert_array_equal(tables.parse(sheet).to_numpy(), frame.to_numpy(float))


@needs_data
@pytest.mark.parametrize("name", list(sources.SOURCES))
def test_the_existing_files_are_the_expected_ones(name):
    loaded = data.load(name)
    assert loaded.X.shape[0] == len(loaded.y)
    assert data.encode(loaded.X).shape == loaded.X.shape


@needs_data
def test_every_data_set_from_its_source_equals_the_existing_file_to_the_byte(monkeypatch, tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("xlrd")
    monkeypatch.setenv("NEURALFOREST_DATA", str(tmp_path))
    with network(everything(LOCAL)):
        assert command.main([]) == 0
    paths = [f"{expected.path}.csv" for expected in tables.load_expected().values()]
    assert len(paths) == 31
    _, differ, missing = filecmp.cmpfiles(LOCAL, tmp_path, paths, shallow=False)
    assert (differ, missing) == ([], [])


@needs_data
def test_housing_comes_from_openml_when_the_archive_lacks_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALFOREST_DATA", str(tmp_path))
    names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT", "MEDV"]
    theirs = pd.read_csv(LOCAL / "paper" / "housing.csv", dtype=str).set_axis(names, axis=1)
    with network(openml(531, theirs, nominal=["CHAS", "RAD"])):
        command.fetch("housing")
    assert filecmp.cmp(LOCAL / "paper" / "housing.csv", tmp_path / "paper" / "housing.csv", shallow=False)


def test_the_local_server_is_removed_after_use():
    with network({}):
        pass
    assert urllib.request._opener is None
