"""A loaded model equals the saved one, bit for bit."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import ModelFileError
from neuralforest.network import LinearModel, Softening, StackedModel
from neuralforest.persistence import _describe
from persistence.models import (
    RF,
    SMALL,
    X,
    Y,
    a_table_regressor,
    again,
    category_network,
    classifier,
    content,
    regressor,
    same_bits,
    soft_network,
    table,
)
from small_models import at_most_boosting_rounds, output, steps

OUTPUTS = ("predict", "predict_proba", "predict_quantiles", "apply", "decision_function")


def assert_same_model(model, loaded, seconds=True):
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    for name in OUTPUTS:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            same_bits(getattr(model, name)(X), getattr(loaded, name)(X))
    same_bits(model.feature_importances_, loaded.feature_importances_)
    for item in fields(model.history_):
        if item.name != "seconds" or seconds:
            same_bits(getattr(model.history_, item.name), getattr(loaded.history_, item.name))
    assert (model.contrast_, model.forest_loss_, model.validation_loss_) == (
        loaded.contrast_,
        loaded.forest_loss_,
        loaded.validation_loss_,
    )
    parameters, kept = model.get_params(deep=False), loaded.get_params(deep=False)
    assert {name for name in parameters if parameters[name] != kept[name]} <= {"forest"}


SOURCES = {
    False: [
        RandomForestRegressor(**RF),
        RandomForestRegressor(**RF, bootstrap=False),
        ExtraTreesRegressor(**RF),
        BaggingRegressor(n_estimators=2, max_features=2),
        GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=3),
        HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=3, min_samples_leaf=2),
    ],
    True: [
        RandomForestClassifier(**RF),
        ExtraTreesClassifier(**RF, bootstrap=True),
        GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=3),
        HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3, min_samples_leaf=2),
    ],
}
LABELS = [
    np.array([3, 7], np.int8),
    np.array([-5, 0, 10**12]),
    np.array([1, 2], np.uint16),
    np.array([False, True]),
    np.array([0.0, 2.0, 3.0], np.float32),
    np.array(["no", "yes"], "U9"),
    np.array(["ä", "β", "語", "🌲"]),
    np.array(["ab", "b"], object),
]


@st.composite
def models(draw):
    is_classifier = draw(st.booleans())
    source = draw(st.sampled_from(SOURCES[is_classifier]))
    boosted = "Boosting" in type(source).__name__
    parameters = {
        "training": "joint" if boosted else draw(st.sampled_from(["independent", "joint"])),
        "connectivity": draw(st.sampled_from(["sparse", "full"])),
        "contrast": draw(st.sampled_from([(3.0, 1), [[1.0, 1.0], [10.0, 2.0]]])),
        "fold_contrast": draw(st.booleans()),
        "standardize": draw(st.booleans()),
        "max_epochs": draw(st.integers(0, 2)),
        "learning_rate": draw(st.sampled_from([0.05, (0.01, 0.1, 0.0)])),
        "random_state": draw(st.integers(0, 9)),
        "n_jobs": draw(st.sampled_from([None, 2])),
    }
    if is_classifier:
        parameters["class_weight"] = draw(st.sampled_from([None, "balanced"]))
        model = classifier(source, draw(st.sampled_from(LABELS)), **parameters)
    else:
        outputs = 1 if boosted else draw(st.integers(1, 3))
        y = np.column_stack([Y, np.full(len(Y), 0.1), Y**2])[:, :outputs]
        model = regressor(source, y[:, 0] if outputs == 1 else y, **parameters)
    return model


def softened(model):
    """A copy of a model in which all networks are used: two epochs seldom improve on the trees."""
    copy = pickle.loads(pickle.dumps(model))
    soft = copy.network_.soft
    copy.network_ = copy.network_.with_parameters(soft.parameters, np.zeros_like(soft.hard))
    return copy


@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore:.*networks diverged", "ignore:warm_start continues with other rows")
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(fitted=models(), first=st.booleans())
def test_a_loaded_model_is_the_same_bit_for_bit_and_continues_training_the_same_way(fitted, first, tmp_path):
    """One of the model and its softened copy continues with another fit, the other with `partial_fit`."""
    for model, warm_start in ((softened(fitted), first), (fitted, not first)):
        loaded = again(model, tmp_path)
        assert_same_model(model, loaded)
        assert content(loaded) == content(model)
        y = model.predict(X)
        if len(np.unique(y)) == 1 and hasattr(model, "classes_"):
            continue
        for each in (model, loaded):
            each.set_params(warm_start=True).fit(X, y) if warm_start else each.partial_fit(X, y)
        assert_same_model(model, loaded, seconds=False)


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("training", ["independent", "joint"])
def test_networks_are_restored_hard_and_soft(connectivity, training, tmp_path):
    soft = soft_network(connectivity=connectivity, training=training, output_center=3.0)
    for each in (soft, nf.ForestNetwork(soft.ensemble), soft.with_parameters(soft.soft.parameters, ~soft.hard)):
        loaded = again(each, tmp_path)
        assert repr(loaded) == repr(each)
        same_bits(each.predict(X), loaded.predict(X))
        same_bits(each.apply(X), loaded.apply(X))


@pytest.mark.parametrize("labels", [*LABELS, np.array([1, 5, 9], object), np.array([1.5, 2.0], object)], ids=repr)
def test_labels_keep_their_values_and_their_type(labels, tmp_path):
    forest = RandomForestClassifier(**RF).fit(X, np.arange(len(X)) % len(labels))
    ensemble = nf.convert(forest).ensemble
    state = ensemble.__getstate__() | {"classes": labels, "feature_names": ("a", "b b", "ü")}
    loaded = again(nf.ForestNetwork(TreeEnsemble(**state)), tmp_path)
    same_bits(np.asarray(labels), loaded.classes)
    assert [type(label) for label in labels.tolist()] == [type(label) for label in loaded.classes.tolist()]
    assert loaded.ensemble.feature_names == ("a", "b b", "ü")


def test_labels_that_a_file_cannot_hold_are_refused(tmp_path):
    model = classifier(labels=np.array(["2020-01-01", "2021-01-01"], "datetime64[D]").astype(object).astype(str))
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
    with pytest.raises(ModelFileError, match=r"labels must be strings, integers, .*: fit the model on such labels"):
        nf.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_feature_names_are_restored_and_checked(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["x", "y", "z"])
    model = nf.NeuralForestRegressor(RandomForestRegressor(**RF), **SMALL).fit(frame, Y)
    loaded = again(model, tmp_path)
    same_bits(model.feature_names_in_, loaded.feature_names_in_)
    same_bits(model.predict(frame), loaded.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["z", "y", "x"]])


def test_parameters_that_a_file_cannot_hold_are_restored_as_their_defaults(tmp_path):
    model = regressor(random_state=np.random.RandomState(0), callback=lambda *_: None, weight_bound=np.float64(1e9))
    model.set_params(checkpoint=nf.Checkpoint(tmp_path / "c"), learning_rate=np.array([0.1, 0.2, 0.3]), verbose=np.inf)
    loaded = again(model, tmp_path)
    assert (loaded.random_state, loaded.callback, loaded.checkpoint) == (None, None, None)
    assert (loaded.weight_bound, loaded.learning_rate, loaded.verbose) == (1e9, [0.1, 0.2, 0.3], np.inf)


def test_dictionaries_are_restored(tmp_path):
    weights = {"a": 1.0, "b": 2, "c": np.float32(0.5)}
    assert again(classifier(class_weight=weights), tmp_path).class_weight == weights


class Unknown(LinearModel):
    pass


def base_models(classes=None):
    """A base model of each kind, for 3 features."""
    forest = RandomForestRegressor if classes is None else RandomForestClassifier
    boosting = GradientBoostingRegressor if classes is None else GradientBoostingClassifier
    y = Y if classes is None else classes[np.digitize(Y, [-0.5, 0.5])]
    trees = [nf.convert(source.fit(X, y)) for source in (forest(**RF), boosting(n_estimators=4, max_leaf_nodes=3))]
    linear = LinearModel(*np.ones((4, 3)), coef=np.arange(3.0)[:, None], intercept=np.ones(1))
    stacked = [StackedModel("extra_trees", trees[0], 0.25), StackedModel("gradient_boosting", trees[1], 0.125)]
    return (*stacked, StackedModel("ridge", linear, 0.1, is_fallback=True)) if classes is None else tuple(stacked)


@pytest.mark.parametrize("classes", [None, np.array(["a", "b", "c"])], ids=["regression", "classification"])
def test_base_models_are_restored(classes, tmp_path):
    model = regressor() if classes is None else classifier()
    model.network_ = model.network_.with_base_models(base_models(classes))
    for each in (model, model.network_):
        loaded = again(each, tmp_path)
        same_bits(each.predict(X), loaded.predict(X))
        assert content(loaded) == content(each)
    assert loaded.stacking_weights == model.stacking_weights_
    assert [(stacked.name, str(stacked.model), stacked.is_fallback) for stacked in loaded.base_models] == [
        (stacked.name, str(stacked.model), stacked.is_fallback) for stacked in model.network_.base_models
    ]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (soft_network(), "a base model must be a hard network without base models to be saved, got ForestNetwork"),
        (Unknown(*np.ones((4, 3)), coef=np.ones((3, 1)), intercept=np.ones(1)), "must be a LinearModel or .*, got Unk"),
    ],
)
def test_base_models_of_other_kinds_are_refused(model, message, tmp_path):
    network = soft_network().with_base_models((StackedModel("mine", model, 0.5),))
    with pytest.raises(ModelFileError, match=message):
        nf.save(network, tmp_path / "m")


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_any_contiguous_subnetworks_are_restored(connectivity, tmp_path):
    network = soft_network(first_tree=[0, 1, 3], connectivity=connectivity)
    network = network.with_parameters(network.soft.parameters, np.array([True, False]))
    loaded = again(network, tmp_path)
    assert loaded.soft.first_tree.tolist() == [0, 1, 3]
    same_bits(network.predict(X), loaded.predict(X))


def test_groups_of_summed_trees_are_restored(tmp_path):
    trees = nf.convert(GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=3).fit(X, Y)).ensemble
    network = nf.ForestNetwork(TreeEnsemble(**trees.__getstate__() | {"groups": [0, 1, 4]}))
    for each in (network, network.soften((3, 1), training="joint")):
        loaded = again(each, tmp_path)
        assert loaded.ensemble.groups.tolist() == [0, 1, 4]
        same_bits(each.predict(X), loaded.predict(X))
    stacked = soft_network().with_base_models((StackedModel("gradient_boosting", network, 0.5),))
    loaded = again(stacked, tmp_path)
    assert loaded.base_models[0].model.ensemble.groups.tolist() == [0, 1, 4]
    same_bits(stacked.predict(X), loaded.predict(X))


def same_trees(first, second):
    for item in fields(TreeEnsemble):
        one, other = getattr(first, item.name), getattr(second, item.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        elif item.name == "categories" and one is not None:
            assert [labels is None for labels in one] == [labels is None for labels in other]
            for labels, loaded in zip(one, other, strict=True):
                if labels is not None:
                    same_bits(labels, loaded)
        else:
            assert one == other


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ash", "elm", "\u00f6k \u0394"]),
        np.array(["ash", "elm", "oak"], object),
        np.array([-1.5, 0.0, 3.0]),
        np.array([3, 7, 2**40]),
        np.array([False, True]),
        np.array([], float),
        np.array([], object),
        None,
    ],
    ids=repr,
)
def test_categories_and_ranges_of_missing_values_are_restored(labels, tmp_path):
    soft = category_network()
    ensemble = replace(soft.ensemble, categories=None if labels is None else (None, labels, None))
    rows = np.array([[0.05, 1, 0], [0.2, 2, 1], [-0.2, 9, 1], [np.nan, -1, 0], [0.3, np.nan, np.nan], [3, 0, 2]])
    hard = nf.ForestNetwork(ensemble)
    for network in (hard, hard.soften((3, 1), training="joint"), hard.soften(training="joint", connectivity="full")):
        loaded = again(network, tmp_path)
        same_trees(network.ensemble, loaded.ensemble)
        same_bits(network.predict(rows), loaded.predict(rows))
        same_bits(network.apply(rows), loaded.apply(rows))


def test_base_models_keep_their_splits_by_category(tmp_path):
    trees = nf.ForestNetwork(category_network().ensemble)
    mean = nf.ForestNetwork(replace(trees.ensemble, aggregation="mean", groups=None, base_score=None))
    for model, other in ((trees, mean), (mean, trees)):
        stacked = model.with_base_models((StackedModel("extra_trees", other, 0.5),))
        loaded = again(stacked, tmp_path)
        same_trees(loaded.base_models[0].model.ensemble, other.ensemble)
        rows = np.array([[0.05, 1, 0], [0.2, 2, 1], [-0.2, 9, 1], [np.nan, np.nan, 0]])
        same_bits(stacked.predict(rows), loaded.predict(rows))


def test_an_estimator_of_a_table_is_restored(tmp_path):
    model, (frame, y) = a_table_regressor(), table()
    loaded = again(model, tmp_path)
    assert set(vars(loaded)) == set(vars(model))
    same_trees(model.network_.ensemble, loaded.network_.ensemble)
    new = pd.DataFrame({"height": [1.0, None], "tree": ["yew", None], "place": [None, "nowhere"]})
    for rows in (frame, new):
        for name in ("predict", "apply", "predict_quantiles"):
            same_bits(getattr(model, name)(rows), getattr(loaded, name)(rows))
    for column, kept in zip(model._encoder.columns, loaded._encoder.columns, strict=True):
        assert column.name == kept.name
        np.testing.assert_array_equal(column.categories, kept.categories)
        np.testing.assert_array_equal(column.means, kept.means)
    first, second = (pickle.loads(pickle.dumps(each)).partial_fit(frame, y) for each in (model, loaded))
    same_bits(first.predict(frame), second.predict(frame))
    same_bits(again(loaded, tmp_path).predict(frame), model.predict(frame))


def test_all_fields_of_models_are_stored():
    """A new field of these classes needs an entry in the file, and so a new format."""
    model = regressor()
    scale = {"scale": soft_network(), "middle": np.ones((1, 1)), "factor": np.ones((1, 1))}
    model._residuals = replace(model._residuals, **scale)
    arrays, description = _describe(model)
    arrays |= _describe(category_network())[0]  # some arrays are stored only where there are categories
    stored = {name.rpartition(".")[2] for name in arrays}
    stored |= set(description["model"]["network"]) | set(description["model"]["network"]["soft"])
    for kind in (TreeEnsemble, Softening, type(model._residuals), nf.History):
        assert {item.name for item in fields(kind) if item.init} <= stored


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_a_loaded_stack_continues_training_the_same_way(classifier, given, tmp_path):
    X, y = steps(classifier)
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    options = {"X_val": X[180:], "y_val": y[180:]} if given else {}
    rows = (X[:180], y[:180]) if given else (X, y)
    with at_most_boosting_rounds(100):
        model = kind(max_epochs=2, warm_start=True, random_state=0).fit(*rows, **options)
        assert model.network_.base_models
        nf.save(model, tmp_path / "model")
        loaded = nf.load(tmp_path / "model").fit(*rows, **options)
        model.fit(*rows, **options)
    assert output(loaded, X).tobytes() == output(model, X).tobytes()
    assert (loaded.validation_loss_, loaded.forest_loss_) == (model.validation_loss_, model.forest_loss_)
    assert loaded.stacking_weights_ == model.stacking_weights_
    if not classifier:
        assert loaded.predict_quantiles(X).tobytes() == model.predict_quantiles(X).tobytes()
