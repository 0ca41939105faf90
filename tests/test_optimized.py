"""The package under `python -OO`, which strips docstrings and assert statements."""

import neuralforest as nf
from small_models import run_in_a_new_process

IMPORT = """
import importlib, inspect, pkgutil, pydoc
import neuralforest as nf
from neuralforest.cli import main
assert False  # is not run
LEFT_OUT = {"neuralforest.__main__", "neuralforest.readers.lightgbm", "neuralforest.readers.xgboost"}
# LightGBM and XGBoost cannot be imported without docstrings
names = [each.name for each in pkgutil.walk_packages(nf.__path__, "neuralforest.") if each.name not in LEFT_OUT]
modules = [importlib.import_module(name) for name in names]
print(len(modules), {module.__doc__ for module in modules})
public = [name for name in nf.__all__ if not name.startswith("_")]
print(*(name for name in public if len(pydoc.render_doc(getattr(nf, name), renderer=pydoc.plaintext)) > 40))
print(*inspect.signature(nf.NeuralForestRegressor).parameters)
for command in ([], ["fit"], ["predict"], ["convert"], ["info"], ["report"], ["demo"]):
    try:
        main([*command, "--help"])
    except SystemExit as end:
        print("exit", end.code)
"""

FIT = """
import hashlib
import numpy as np
import neuralforest as nf
X = np.random.default_rng(0).uniform(size=(120, 12))
step = np.floor(6 * X[:, 0])
for kind, y in ((nf.NeuralForestRegressor, step), (nf.NeuralForestClassifier, step % 2)):
    model = kind(max_epochs=2, random_state=0).fit(X, y)
    prediction = model.predict(X) if y is step else model.predict_proba(X)
    print(model, model.stacking_weights_, len(model._repr_html_()) > 1000)
    print(hashlib.sha256(prediction.tobytes()).hexdigest())
"""


def test_modules_help_and_the_command_line_need_no_docstrings():
    first, documented, parameters, *lines = run_in_a_new_process(IMPORT, flags=["-OO"]).decode().splitlines()
    n_modules, docstrings = first.split(maxsplit=1)
    assert int(n_modules) > 80
    assert docstrings == "{None}"
    assert documented.split() == [name for name in nf.__all__ if name != "__version__"]
    assert set(parameters.split()) == set(nf.NeuralForestRegressor().get_params())
    assert lines.count("exit 0") == 7
    assert sum(line.startswith("usage: neuralforest") for line in lines) == 7


def test_fits_have_the_same_bits_without_assert_statements():
    plain, optimized = (run_in_a_new_process(FIT, flags=flags).decode() for flags in ([], ["-OO"]))
    assert optimized == plain
    assert "'gradient_boosting'" in plain
