"""The package under `python -OO`, which strips docstrings and assert statements.

That fits have the same bits is tested where all kernels are compiled, in test_warmup.py of the estimators.
"""

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


def test_modules_help_and_the_command_line_need_no_docstrings():
    first, documented, parameters, *lines = run_in_a_new_process(IMPORT, flags=["-OO"]).decode().splitlines()
    n_modules, docstrings = first.split(maxsplit=1)
    assert int(n_modules) > 80
    assert docstrings == "{None}"
    assert documented.split() == [name for name in nf.__all__ if name != "__version__"]
    assert set(parameters.split()) == set(nf.NeuralForestRegressor().get_params())
    assert lines.count("exit 0") == 7
    assert sum(line.startswith("usage: neuralforest") for line in lines) == 7
