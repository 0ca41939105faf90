"""A damaged file is refused."""

import os
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import neuralforest as nf
from neuralforest.exceptions import ModelFileError
from neuralforest.persistence import _container
from persistence.models import X, classifier, content, signed


@pytest.fixture(scope="module")
def sound():
    return content(classifier(RandomForestClassifier(2, max_leaf_nodes=3)))


def test_a_file_that_ends_early_is_refused_wherever_it_ends(sound, tmp_path):
    path = tmp_path / "model.nforest"
    path.write_bytes(sound)
    for length in reversed(range(len(sound))):
        os.truncate(path, length)
        with pytest.raises(ModelFileError):
            nf.load(path)
    path.write_bytes(sound + b"\0")
    with pytest.raises(ModelFileError, match="checksum does not match: copy or save it again"):
        nf.load(path)


def test_no_flipped_bit_goes_unnoticed(sound, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "model.nforest"
    path.write_bytes(sound)
    with open(path, "r+b", buffering=0) as file:
        for number in range(5000):
            bits = {int(bit) for bit in rng.integers(8 * len(sound), size=1 + number % 3)}
            flipped = bytearray(sound)
            for bit in bits:
                flipped[bit // 8] ^= 1 << bit % 8
            for place in {bit // 8 for bit in bits}:
                os.pwrite(file.fileno(), flipped[place : place + 1], place)
            with pytest.raises(ModelFileError):
                nf.load(path)
            for place in {bit // 8 for bit in bits}:
                os.pwrite(file.fileno(), sound[place : place + 1], place)
    nf.load(path)


def test_a_changed_file_with_the_right_checksum_is_refused_or_still_a_model(sound, tmp_path):
    """Changes that an attacker could make: no crash, no hang, no other error."""
    rng = np.random.default_rng(1)
    path = tmp_path / "model.nforest"
    path.touch()
    start = 8 + int.from_bytes(sound[:8], "little")
    refused = 0
    for number in range(2500):
        data = bytearray(sound)
        place = rng.integers(_container._CHECKSUM.stop, start) if number % 3 else rng.integers(start, len(data))
        data[place] = rng.integers(256) if number % 2 else data[place] ^ (1 << rng.integers(8))
        with open(path, "r+b") as file:
            file.write(signed(data))
        try:
            model = nf.load(path)
        except ModelFileError:
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.predict_proba(X)
    assert 800 < refused < 2400
