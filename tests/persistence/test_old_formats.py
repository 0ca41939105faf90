"""Files of all formats are read, and predict what they did. They were written once, by the versions of their time."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import neuralforest as nf
from neuralforest.exceptions import ModelFileError
from neuralforest.persistence import FORMAT, _container, _restore
from neuralforest.persistence.old_formats import upgrade
from persistence.models import again, file_of

MODELS = Path(__file__).parents[1] / "models"
FILES = sorted(path.name for path in MODELS.glob("*.nforest"))


def expected(number):
    values = json.loads((MODELS / f"format-{number}.json").read_text())
    return np.array(values.pop("X")), values


def load(name):
    return nf.load(MODELS / f"format-{name}.nforest")


def parts(file):
    arrays, text = _container.read(MODELS / file)
    return json.loads(text), arrays


def test_there_is_a_file_of_every_format():
    assert {parts(file)[0]["format"] for file in FILES} == set(range(1, FORMAT + 1))


@pytest.mark.parametrize("name", ["regressor", "classifier", "network", "table"])
def test_format_1(name):
    model, (rows, values) = load(f"1-{name}"), expected(1)
    if name == "table":
        assert model.columns[1].categories == ("ash", "elm", "oak")
        model = model.model
    if name == "classifier":
        assert model.predict(rows).tolist() == values["labels"]
        assert_allclose(model.predict_proba(rows), values[name], rtol=1e-5)
        model.partial_fit(rows, values["labels"])
    else:
        assert_allclose(model.predict(rows), values[name], rtol=1e-5)
    if name == "regressor":
        assert_allclose(model.predict_quantiles(rows, (0.1, 0.9)), values["quantiles"], rtol=1e-5)


def test_format_2():
    network, (rows, values) = load("2-network"), expected(2)
    assert network.stacking_weights == {"network": 0.75, "extra_trees": 0.25}
    assert str(network.base_models[0].model) == "3 trees"
    assert_allclose(network.predict_proba(rows), values["probabilities"], rtol=1e-5)


def test_format_3():
    network, (rows, values) = load("3-network"), expected(3)
    weights = {"network": 0.25, "extra_trees": 0.25, "gradient_boosting": 0.125, "ridge": 0.375}
    assert network.stacking_weights == weights
    assert [str(each.model) for each in network.base_models] == ["3 trees", "4 trees", "a linear function"]
    assert_allclose(network.predict(rows), values["prediction"], rtol=1e-5)


def test_format_4():
    model, (rows, values) = load("4-regressor"), expected(4)
    assert_allclose(model.predict(rows), values["prediction"], rtol=1e-5)
    assert_allclose(model.predict_quantiles(rows, (0.1, 0.9)), values["quantiles"], rtol=1e-5)


def test_format_5():
    model, (rows, values) = load("5-regressor"), expected(5)
    assert_allclose(model.predict(rows), values["prediction"], rtol=1e-5)
    assert_array_equal(model.predict(1e3 * rows), model.predict(1e6 * rows))  # features are clipped


def test_format_6():
    network, (rows, values) = load("6-network"), expected(6)
    assert [(each.name, each.weight, each.is_fallback) for each in network.base_models] == [
        ("combination_forecast", 0.5, True),
        ("ridge", 0.25, False),
    ]
    assert network.soft.spread.tolist() == [0.25, 1.0, 0.5, 0.75]
    assert_allclose(network.predict(rows), values["prediction"], rtol=1e-5)


@pytest.mark.parametrize("name", ["regressor", "classifier", "network"])
def test_format_7(name):
    model, (rows, values) = load(f"7-{name}"), expected(7)
    predict = model.predict_proba if name == "classifier" else model.predict
    assert_allclose(predict(rows), values[name], rtol=1e-5)
    if name == "regressor":
        assert list(model.stacking_weights_) == [
            "network",
            "combination_forecast",
            "extra_trees",
            "shallow_gradient_boosting",
            "ridge",
        ]
        assert [each.is_fallback for each in model.network_.base_models] == [True, False, False, False]
        assert_allclose(model.predict_quantiles(rows, (0.1, 0.9)), values["quantiles"], rtol=1e-5)
    if name == "network":
        assert model.soft.first_tree.tolist() == model.ensemble.groups.tolist() == [0, 1, 4]


@pytest.mark.parametrize("name", ["regressor", "classifier", "network"])
def test_format_8(name):
    model, (rows, values) = load(f"8-{name}"), expected(8)
    predict = model.predict_proba if name == "classifier" else model.predict
    assert_allclose(predict(rows), values[name], rtol=1e-5)
    if name == "regressor":
        assert_allclose(model.predict_quantiles(rows, (0.1, 0.9)), values["quantiles"], rtol=1e-5)


def test_format_8_holds_the_columns_of_a_table():
    model, (_, values) = load("8-table"), expected(8)
    assert [column.name for column in model._encoder.columns] == ["height", "tree", "place"]
    assert model._encoder.columns[1].categories.tolist() == ["ash", "elm", "oak"]
    assert model._encoder.n_categories.tolist() == [0, 3, 0]
    assert model._encoder.columns[2].means.shape == (71,)
    table = pd.DataFrame(values["rows"]).astype({"height": float})
    assert_allclose(model.predict(table), values["table"], rtol=1e-5)


def test_format_8_holds_categories_and_ranges_of_missing_values():
    network, (_, values) = load("8-categories"), expected(8)
    assert network.ensemble.is_categorical.any()
    assert network.ensemble.categories[0] is None
    assert network.ensemble.categories[1].tolist() == [-1.0, 2.0, 5.0]
    assert_array_equal(network.ensemble.missing_range, [[-0.01, 0.01], [np.nan, np.nan]])
    codes = np.array(values["codes"], float)
    assert_allclose(network.predict(codes), values["categories"], rtol=1e-5)


def test_intervals_of_an_old_file_stay_the_same_when_it_is_saved_again(tmp_path):
    old, (rows, _) = load("1-regressor"), expected(1)
    assert_array_equal(again(old, tmp_path).predict_quantiles(rows), old.predict_quantiles(rows))


def test_a_network_before_format_5_has_no_range_and_standardized_features():
    soft = load("4-regressor").network_.soft
    assert (soft.low == -1e30).all()
    assert (soft.high == 1e30).all()
    assert (soft.spread == 1.0).all()


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if int(file.split("-")[1]) < 7],
)
def test_trees_before_format_7_are_one_group_and_subnetworks_follow_from_the_training(file):
    model = nf.load(MODELS / file)
    model = getattr(model, "model", model)
    network = getattr(model, "network_", model)
    trees = [each.model.ensemble for each in network.base_models if isinstance(each.model, nf.ForestNetwork)]
    for ensemble in (network.ensemble, *trees):
        assert ensemble.groups.tolist() == [0, ensemble.n_trees]
    if network.soft is not None:
        n_trees = network.ensemble.n_trees
        expected = [0, n_trees] if network.soft.training == "joint" else list(range(n_trees + 1))
        assert network.soft.first_tree.tolist() == expected


def test_parameters_have_their_new_names_and_values():
    description, arrays = parts("format-5-regressor.nforest")
    description["model"]["parameters"] |= {"companion": None, "folded": True, "bound": 2.0, "schedule": "cycles"}
    model = _restore(*upgrade(description, arrays)[::-1])
    assert (model.stacking, model.fold_contrast, model.weight_bound) == (None, True, 2.0)
    assert (model.schedule, model.contrast_unit) == ("cyclic", "node")


def test_base_models_of_the_same_kind_have_different_names():
    """Before format 6, a combination forecast was stored as a linear model; shallow trees had no kind."""
    description, arrays = parts("format-3-network.nforest")
    description["model"]["companions"] += ["linear", "sum identity"]
    linear, trees = ({name: array for name, array in arrays.items() if f".{i}." in name} for i in (2, 1))
    arrays |= {name.replace(".2.", ".3."): array for name, array in linear.items()}
    arrays |= {name.replace(".1.", ".4."): array for name, array in trees.items()}
    description["format"] = 5
    names = [each["name"] for each in upgrade(description, arrays)[0]["model"]["base_models"]]
    assert len(set(names)) == 5
    assert names[:3] == ["extra_trees", "gradient_boosting", "ridge"]


def test_the_first_files_of_format_6_have_no_spread():
    description, arrays = parts("format-6-network.nforest")
    network = _restore(*upgrade(description, {name: arrays[name] for name in arrays if name != "spread"})[::-1])
    assert (network.soft.spread == 1.0).all()


def test_upgrades_do_not_change_their_arguments():
    for file in FILES:
        description, arrays = parts(file)
        text, names = json.dumps(description), list(arrays)
        upgrade(description, arrays)
        assert (json.dumps(description), list(arrays)) == (text, names)


VALUES = st.sampled_from([None, True, 1, -1, 1.5, "text", "network", "mean", [], [1], ["linear"], ["sum x"], {}])
ARRAYS = st.sampled_from([np.zeros(()), np.zeros(0), np.zeros((0, 9)), np.ones(3, np.bool_), np.arange(4), np.ones(2)])


def places(value, path=()):
    """The paths of all entries of a JSON object."""
    for key, inner in value.items():
        yield (*path, key)
        if isinstance(inner, dict):
            yield from places(inner, (*path, key))


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_a_tampered_old_file_is_refused_or_still_a_model(data):
    """No step trusts what it finds."""
    description, arrays = parts(data.draw(st.sampled_from(FILES)))
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            *path, last = data.draw(st.sampled_from(list(places(description))))
            inner = description
            for key in path:
                inner = inner[key]
            if data.draw(st.booleans()):
                del inner[last]
            else:
                inner[last] = data.draw(VALUES)
        elif arrays:
            name = data.draw(st.sampled_from(sorted(arrays)))
            if data.draw(st.booleans()):
                del arrays[name]
            else:
                arrays[name] = data.draw(ARRAYS)
    try:
        _restore(*upgrade(description, arrays)[::-1])
    except ModelFileError:
        return


@pytest.mark.parametrize("kinds", [{}, "linear", [["linear"]]])
def test_kinds_of_base_models_that_are_no_strings_are_refused(kinds):
    description, arrays = parts("format-3-network.nforest")
    description["model"]["companions"] = kinds
    with pytest.raises(ModelFileError, match="must be a list of strings"):
        upgrade(description, arrays)


def test_an_old_file_does_not_take_the_memory_that_it_states(tmp_path):
    description, arrays = parts("format-1-regressor.nforest")
    description["model"]["network"]["n_features"] = 2**31 - 1
    arrays["center"] = np.zeros((2**40, 0))
    (tmp_path / "m").write_bytes(file_of(arrays, description))
    with pytest.raises(ModelFileError, match="'center' must be float64 of shape"):
        nf.load(tmp_path / "m")
