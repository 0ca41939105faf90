"""Parameters in files: what they can hold, and how deep it may be nested."""

import pytest

from neuralforest.exceptions import ModelFileError
from neuralforest.persistence._plain import from_json, to_json


def nested(wrap, depth):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}], ids=["list", "tuple", "dict"])
def test_parameters_may_be_nested_8_deep_and_no_deeper(wrap):
    assert from_json(to_json(nested(wrap, 8))) == nested(wrap, 8)
    with pytest.raises(ModelFileError, match="cannot hold"):
        to_json(nested(wrap, 9))
    with pytest.raises(ModelFileError, match="not be nested more than 8 deep"):
        from_json(to_json(nested(wrap, 9), depth=20))


@pytest.mark.parametrize("key", [(1,), [1]])
def test_keys_of_dictionaries_are_plain(key):
    with pytest.raises(ModelFileError):
        from_json({"dict": [[{"tuple": [1]} if isinstance(key, tuple) else key, 2]]})
    assert from_json(to_json({1: "a", "b": None})) == {1: "a", "b": None}
