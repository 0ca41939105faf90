"""Files on disk: what is written, when, and what is refused."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import ModelFileError
from neuralforest.network import StackedModel
from neuralforest.persistence import _container, _describe
from persistence.models import X, a_classifier, a_regressor, classifier, network, same_bits


def test_other_files_are_refused_with_what_to_do(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "pickle").write_bytes(pickle.dumps(network()))
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("empty", "is empty: use a file that nf.save or 'neuralforest fit' wrote"),
        ("pickle", "is not a neuralforest model file: use a file"),
        ("pipe", "is not a regular file"),
        (".", "is not a regular file: use a file that nf.save wrote"),
    ):
        with pytest.raises(ModelFileError, match=message):
            nf.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        nf.load(tmp_path / "none")


def test_other_models_are_refused_with_what_to_do(tmp_path):
    class Mine(nf.NeuralForestRegressor):
        pass

    for model in (RandomForestRegressor(), Mine(), None):
        with pytest.raises(ModelFileError, match=r"nf.save writes .*, got .*: save another model through nf.convert"):
            nf.save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        nf.save(nf.NeuralForestRegressor(), tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        nf.save(network(), tmp_path / "no folder" / "m")
    assert not list(tmp_path.iterdir())


def test_very_long_names_are_refused(tmp_path):
    state = network().ensemble.__getstate__() | {"feature_names": ("a", "b", "c" * _container.MAX_HEADER)}
    with pytest.raises(ModelFileError, match=r"must fit into 16777216 bytes, got .*: shorten the names"):
        nf.save(nf.ForestNetwork(TreeEnsemble(**state)), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_very_many_base_models_are_refused(tmp_path):
    trees = nf.ForestNetwork(network().ensemble)
    models = tuple(StackedModel(f"trees_{number}", trees, 0.01) for number in range(12))
    with pytest.raises(ModelFileError, match=r"a file may hold 128 arrays, got \d+: use fewer base models"):
        nf.save(network().with_base_models(models), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    nf.save(network(), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        nf.save(a_regressor(), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_the_same_model_gives_the_same_bytes_and_safetensors_reads_them(tmp_path):
    nf.save(a_regressor(), tmp_path / "m")
    nf.save(a_regressor(), str(tmp_path / "n"))
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    arrays, _ = _describe(a_regressor())
    read = load_file(tmp_path / "m")
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        same_bits(np.asarray(array), read[name])


KILLED = """
import os, random, signal, sys, time
import neuralforest as nf
path, models = sys.argv[1], [nf.load(name) for name in sys.argv[2:]]
expected = [open(name, "rb").read() for name in sys.argv[2:]]
folder = os.path.dirname(path)
random.seed(0)
seen = set()
for attempt in range(40):
    if attempt % 10 == 0 and os.path.exists(path):
        os.unlink(path)
    before = os.stat(folder).st_mtime_ns
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                nf.save(model, path)
    while os.stat(folder).st_mtime_ns == before:  # until it has begun to write
        time.sleep(0.0005)
    time.sleep(random.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if os.path.exists(path):
        nf.load(path)
        seen.add(expected.index(open(path, "rb").read()))
    else:
        seen.add(None)
print(len(seen), len([name for name in os.listdir(folder) if name.endswith(".unfinished")]))
"""


def in_a_new_process(code, *arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_kill_9_during_a_save_leaves_an_old_or_a_new_file_or_none(tmp_path):
    nf.save(a_regressor(), tmp_path / "a")
    nf.save(classifier(RandomForestClassifier(50)), tmp_path / "b")
    (tmp_path / "to").mkdir()
    kinds, unfinished = in_a_new_process(KILLED, tmp_path / "to" / "m", tmp_path / "a", tmp_path / "b").split()
    assert int(kinds) >= 2
    assert int(unfinished) > 0  # some were killed while they wrote


def test_a_new_process_predicts_the_same(tmp_path):
    np.save(tmp_path / "X.npy", X)
    models = [a_regressor(), a_classifier(), network()]
    for number, model in enumerate(models):
        nf.save(model, tmp_path / str(number))
    code = """
import sys, numpy as np, neuralforest as nf
X = np.load(sys.argv[1])
for name in sys.argv[2:]:
    print(nf.load(name).predict(X).tobytes().hex())
"""
    printed = in_a_new_process(code, tmp_path / "X.npy", *(tmp_path / str(number) for number in range(3))).split()
    assert printed == [model.predict(X).tobytes().hex() for model in models]
