"""The help is true: its examples are valid commands, and its defaults are those of the estimators."""

import re

import pytest

import neuralforest as nf
from neuralforest.cli import COMMANDS, build_parser, main
from neuralforest.estimators.forests import default_forest
from neuralforest.tables import MAX_CLASSES

FIT = ["fit", "data.csv", "--target", "y", "--out", "m"]


def help_of(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_valid_commands(command, capsys):
    text = help_of(command, capsys)
    lines = [line.partition("#")[0] for line in text.partition("examples:")[2].splitlines()]
    examples = [line.split()[1:] for line in lines if "  neuralforest " in line]
    assert examples
    for example in examples:
        build_parser().parse_args(example[: example.index(">")] if ">" in example else example)


@pytest.mark.parametrize("estimator", [nf.NeuralForestRegressor(), nf.NeuralForestClassifier()])
def test_defaults_of_fit_are_those_of_the_estimators(estimator):
    arguments = build_parser().parse_args(FIT)
    names = {"training": "training", "connectivity": "connectivity", "epochs": "max_epochs", "validation": "validation"}
    assert {name: getattr(arguments, name) for name in names} == {
        name: getattr(estimator, parameter) for name, parameter in names.items()
    }


def test_the_help_of_fit_states_its_defaults(capsys):
    text = " ".join(help_of("fit", capsys).split())
    arguments = build_parser().parse_args(FIT)
    for name in ("separator", "task", "validation", "epochs", "training", "connectivity", "seed", "jobs"):
        part = re.search(rf" --{name} (?:(?! --\w).)*\(default: (,|[^,)]*)[,)]", text.partition("options:")[2])
        assert part is not None, name
        assert part[1] == str(getattr(arguments, name))
    assert f"up to {MAX_CLASSES} distinct integers" in text
    assert f"hold out {nf.NeuralForestRegressor().validation_fraction:g}" in text


@pytest.mark.parametrize(("classifier", "fewest"), [(False, 8), (True, 12)])
def test_the_help_of_fit_states_the_number_of_trees(classifier, fewest, capsys):
    n_classes = 2 if classifier else None
    sizes = (10, 300, 1000, 5000, 10**6)
    counts = [default_forest(classifier, n_rows, 4, n_classes=n_classes).n_estimators for n_rows in sizes]
    assert (counts[0], counts[-1]) == (60, fewest)
    assert counts == sorted(counts, reverse=True)
    assert f"{fewest} to 60" in " ".join(help_of("fit", capsys).split())
