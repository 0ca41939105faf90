"""Libraries that are not installed."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [("onnx", "onnx", "onnx"), ("skl2onnx", "skl2onnx", "onnx"), ("torch", "torch", "torch")],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, library, extra):
    for name in [name for name in sys.modules if name.startswith("neuralforest.export.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [library, *(name for name in sys.modules if name.startswith(library + "."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"pip install 'neuralforest\[{extra}\]'"):
        importlib.import_module(f"neuralforest.export.{module}")
