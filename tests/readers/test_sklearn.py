import copy
import pickle
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from threadpoolctl import threadpool_limits

import twins
from neuralforest import convert, readers
from neuralforest.convert import _accepts_missing
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.readers import _sklearn_trees, library_of, read_ensemble
from neuralforest.readers.check import check_rows, decoded, source_output
from reader_checks import assert_one_leaf_is_active, assert_same_leaves, rows_of

TREES = [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor, ExtraTreeClassifier]
FORESTS = [RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier]
BAGS = [BaggingRegressor, BaggingClassifier]
BOOSTED = [GradientBoostingRegressor, GradientBoostingClassifier]
HISTOGRAM = [HistGradientBoostingRegressor, HistGradientBoostingClassifier]
FAMILIES = TREES + FORESTS + BAGS + BOOSTED + HISTOGRAM
LABELS = {
    "numbers": np.array([-3, 0, 7, 12]),
    "floats": np.array([-1.0, 2.0, 5.0, 9.0]),
    "strings": np.array(["ant", "bee", "cat", "dog"]),
    "objects": np.array(["a", "bb", "ccc", "dddd"], dtype=object),
    "booleans": np.array([False, True]),
}
SMALL = {
    **{family: {"random_state": 0} for family in TREES},
    **{family: {"n_estimators": 3, "random_state": 0} for family in FORESTS + BAGS + BOOSTED},
    **{family: {"max_iter": 3, "min_samples_leaf": 2} for family in HISTOGRAM},
}


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other cost more than these tiny fits when the machine is busy."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def example(n_rows=40, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, X[:, 0] + np.sin(5 * X[:, -1])


def fitted(family, **parameters):
    X, y = example()
    return family(**SMALL[family] | parameters).fit(X, y > 0 if is_classifier(family()) else y)


@st.composite
def fits(draw, family):
    """A fitted model of the family and its training X."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows, n_features = draw(st.integers(12, 60), label="rows"), draw(st.integers(1, 4), label="features")
    values = draw(st.sampled_from(["normal", "grid", "offset", "huge", "constant"]), label="values of X")
    X = rng.normal(size=(n_rows, n_features))
    X = {"normal": X, "grid": X.round(), "offset": 1e3 + X * 1e-3, "huge": X * 1e30, "constant": X * 0}[values]
    if family not in BOOSTED:  # which refuse missing values
        share = draw(st.sampled_from([0, 0.2, 0.7]), label="share of NaN")
        columns = draw(st.integers(0, n_features), label="columns with NaN")
        X[1:, :columns][rng.random((n_rows - 1, columns)) < share] = np.nan
    y = draw_target(draw, family, rng, n_rows)
    return family(**draw_parameters(draw, family)).fit(X, y), X


def draw_target(draw, family, rng, n_rows):
    if is_classifier(family()):
        labels = LABELS[draw(st.sampled_from(sorted(LABELS)), label="labels")]
        labels = labels[: draw(st.integers(2, len(labels)), label="classes")]
        # the first class is frequent, so that a bootstrap sample may miss the last
        code = np.minimum(rng.geometric(0.5, size=n_rows) - 1, len(labels) - 1)
        code[: len(labels)] = np.arange(len(labels))
        return labels[code]
    if family in BOOSTED + HISTOGRAM:
        return rng.gamma(2, size=n_rows)
    n_outputs = draw(st.integers(1, 3), label="outputs")
    return rng.normal(size=(n_rows, n_outputs) if n_outputs > 1 else n_rows)


def draw_parameters(draw, family):
    seed = draw(st.integers(0, 99), label="random_state")
    depth = draw(st.sampled_from([None, 1, 3, 6]), label="depth")
    leaves = draw(st.sampled_from([None, 4, 16]), label="leaves")  # a number grows the tree best-first
    shape = {"max_depth": depth, "max_leaf_nodes": leaves, "random_state": seed}
    size = draw(st.integers(1, 4), label="trees")
    if family in BAGS:
        base = draw(st.sampled_from([tree for tree in TREES if is_classifier(tree()) == is_classifier(family())]))
        draws = {"max_samples": 12, "max_features": draw(st.sampled_from([0.5, 1.0]), label="share of features")}
        twice = draw(st.booleans(), label="features drawn with replacement")
        return {"estimator": base(**shape), "n_estimators": size, "bootstrap_features": twice, **draws}
    if family in HISTOGRAM:
        loss = ["log_loss"] if is_classifier(family()) else ["squared_error", "absolute_error", "gamma", "poisson"]
        return shape | {"max_iter": size, "min_samples_leaf": 2, "loss": draw(st.sampled_from(loss), label="loss")}
    if family in BOOSTED:
        loss = ["log_loss"] if is_classifier(family()) else ["squared_error", "absolute_error", "huber", "quantile"]
        init = draw(st.sampled_from([None, "zero"]), label="init")
        return shape | {"n_estimators": size, "loss": draw(st.sampled_from(loss), label="loss"), "init": init}
    return shape if family in TREES else shape | {"n_estimators": size}


def hard_rows(ensemble, X, rng, missing):
    """Rows of training and rows where going wrong is easy: on thresholds, one step beside them, and far away."""
    rows = np.repeat(X[rng.integers(len(X), size=12)], 4, axis=0)
    thresholds = np.append(ensemble.threshold[np.isfinite(ensemble.threshold)], 0.0)
    single = thresholds.astype(np.float32)
    special = np.concatenate(
        [thresholds, single, [-1e37, 1e37]]
        + [np.nextafter(near, near.dtype.type(away)) for near in (thresholds, single) for away in (-np.inf, np.inf)]
        + ([[np.nan]] if missing else [])
        + ([[-np.inf, np.inf, 1e308]] if ensemble.compare_dtype == "float64" else [])
    )
    mask = rng.random(rows.shape) < 0.7
    rows[mask] = rng.choice(special, size=mask.sum())
    return rows


def source_leaves(model, X):
    """The source's own leaf of every row in every tree, as numbers from left to right."""
    if isinstance(model, tuple(TREES)):
        pairs = [(model, model.apply(X))]
    elif isinstance(model, tuple(BAGS)):
        pairs = [
            (tree, tree.apply(X[:, chosen]))
            for tree, chosen in zip(model.estimators_, model.estimators_features_, strict=True)
        ]
    else:
        trees = np.ravel(model.estimators_)
        pairs = list(zip(trees, model.apply(X).reshape(len(X), len(trees)).T, strict=True))
    columns = []
    for tree, nodes in pairs:
        order = twins.leaf_nodes(tree.tree_.children_left, tree.tree_.children_right)
        columns.append([np.flatnonzero(order == node)[0] for node in nodes])
    return np.transpose(columns)


@pytest.mark.parametrize("family", FAMILIES)
def test_ensembles_reach_the_leaves_and_values_of_their_source(family):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.data())
    def check(data):
        model, X = data.draw(fits(family))
        ensemble = read_ensemble(model)
        rng = np.random.default_rng(0)
        rows = hard_rows(ensemble, X, rng, missing=family not in BOOSTED)
        np.testing.assert_allclose(twins.predict(ensemble, rows), source_output(model, rows), rtol=1e-12)
        if family not in HISTOGRAM:
            np.testing.assert_array_equal(twins.leaves(ensemble, rows), source_leaves(model, rows))
        if is_classifier(model):
            np.testing.assert_array_equal(ensemble.classes, model.classes_)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_never_splits_has_one_leaf_a_tree(family):
    y = np.arange(20) % 4
    model = family(**SMALL[family]).fit(np.zeros((20, 2)), y)
    ensemble = read_ensemble(model)
    assert ensemble.n_splits == 0
    np.testing.assert_allclose(twins.predict(ensemble, np.ones((3, 2))), source_output(model, np.ones((3, 2))))


@pytest.mark.parametrize("family", FAMILIES)
def test_reading_leaves_the_model_as_it_was(family):
    model = fitted(family)
    before = pickle.dumps(model)
    ensemble = read_ensemble(model)
    source_output(model, check_rows(ensemble))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("family", FAMILIES)
def test_subclasses_are_read_like_their_parents(family):
    class Renamed(family):
        __module__ = "elsewhere"

    model = fitted(family)
    model.__class__ = Renamed
    assert read_ensemble(model).n_leaves == read_ensemble(fitted(family)).n_leaves


@pytest.mark.parametrize("family", FAMILIES)
def test_leaf_weights_are_the_training_rows(family):
    ensemble = read_ensemble(fitted(family, **({"bootstrap": False} if family in FORESTS + BAGS else {})))
    np.testing.assert_array_equal(np.add.reduceat(ensemble.weight, ensemble.first_leaf[:-1]), 40)


@pytest.mark.parametrize("family", TREES + HISTOGRAM)
def test_a_split_of_missing_against_the_rest_has_an_infinite_threshold(family):
    X = np.where(np.arange(40) % 2, np.nan, np.arange(40.0))[:, None]
    model = family(**SMALL[family] | {"max_depth": 1}).fit(X, np.arange(40) % 2)
    ensemble = read_ensemble(model)
    rows = np.array([[np.nan], [-1e30], [1e30]])
    assert np.isposinf(ensemble.threshold).any() or family in (ExtraTreeRegressor, ExtraTreeClassifier)
    np.testing.assert_allclose(twins.predict(ensemble, rows), source_output(model, rows), rtol=1e-12)


def test_a_loss_decides_the_link():
    X, y = example()
    links = {
        loss: read_ensemble(HistGradientBoostingRegressor(loss=loss, max_iter=2, quantile=0.5).fit(X, y**2 + 1)).link
        for loss in ("squared_error", "absolute_error", "quantile", "poisson", "gamma")
    }
    assert set(links.items()) == {
        ("squared_error", "identity"),
        ("absolute_error", "identity"),
        ("quantile", "identity"),
        ("poisson", "log"),
        ("gamma", "log"),
    }
    assert read_ensemble(fitted(HistGradientBoostingClassifier)).link == "logit"
    assert read_ensemble(fitted(GradientBoostingClassifier)).link == "logit"
    many = HistGradientBoostingClassifier(max_iter=2).fit(X, np.arange(40) % 3)
    assert read_ensemble(many).link == "softmax"
    assert read_ensemble(fitted(RandomForestClassifier)).link == "identity"


def test_the_exponential_loss_doubles_every_score():
    model = fitted(GradientBoostingClassifier, loss="exponential")
    X = check_rows(read_ensemble(model))
    np.testing.assert_array_equal(twins.scores(read_ensemble(model), X)[:, 0], 2 * model.decision_function(X))
    np.testing.assert_array_equal(twins.predict(read_ensemble(model), X), source_output(model, X))


@pytest.mark.parametrize(
    ("family", "init"),
    [
        (GradientBoostingRegressor, DummyRegressor(strategy="constant", constant=3.0)),
        (GradientBoostingClassifier, DummyClassifier(strategy="uniform")),
    ],
)
def test_a_dummy_that_guesses_a_constant_is_a_base_score(family, init):
    model = fitted(family, init=init)
    X = check_rows(read_ensemble(model))
    np.testing.assert_allclose(twins.predict(read_ensemble(model), X), source_output(model, X), rtol=1e-12)


def test_a_bagged_tree_predicts_0_for_classes_without_training_rows():
    class Unweighted(DecisionTreeClassifier):
        def fit(self, X, y):  # without weights, a bag hands over the rows that it drew and no others
            return super().fit(X, y)

    X, _ = example(n_rows=12)
    model = BaggingClassifier(Unweighted(random_state=0), n_estimators=8, max_samples=3, random_state=0)
    model.fit(X, np.array(list("aaaaaaaaaabc")))
    assert any(len(tree.classes_) < 3 for tree in model.estimators_)
    ensemble = read_ensemble(model)
    assert list(ensemble.classes) == ["a", "b", "c"]
    np.testing.assert_allclose(twins.predict(ensemble, X), model.predict_proba(X), rtol=1e-12)


def test_names_of_features_are_kept():
    X, y = example()
    frame = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = RandomForestRegressor(n_estimators=2, random_state=0).fit(frame, y)
    assert read_ensemble(model).feature_names == ("height", "width", "depth")
    assert read_ensemble(fitted(RandomForestRegressor)).feature_names is None
    np.testing.assert_array_equal(source_output(model, X), model.predict(frame))  # and no warning


# --- categories ------------------------------------------------------------------------------------------------------

KINDS = ("strings", "numbers", "booleans", "categories")


@st.composite
def fits_with_categories(draw, family):
    """A histogram model of a data frame or of an array whose first and third columns hold categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows, n_categories = draw(st.integers(30, 90), label="rows"), draw(st.integers(1, 40), label="categories")
    code = rng.integers(0, n_categories, size=(n_rows, 2))
    numbers = rng.normal(size=(n_rows, 2))
    y = code[:, 0] % 3 + (code[:, 1] % 2) * numbers[:, 0] + rng.gamma(2, size=n_rows)
    share = draw(st.sampled_from([0, 0.2]), label="share of NaN")
    missing = rng.random((n_rows, 4)) < share
    kind = draw(st.sampled_from(KINDS), label="kind of categories")
    as_frame = kind != "numbers" or draw(st.booleans(), label="as a data frame")
    labels = {
        "strings": np.array([f"c{i}" for i in rng.permutation(40)], object),
        "numbers": np.sort(rng.choice(300, 40, replace=False)).astype(float),  # no codes: neither dense nor from 0
        "booleans": np.arange(40) % 2 == 1,
        "categories": np.array([f"c{i}" for i in range(40)], object),
    }[kind]
    columns = {"a": labels[code[:, 0]], "x": numbers[:, 0], "b": labels[code[:, 1]], "y": numbers[:, 1]}
    for lacking, name in zip(missing.T, columns, strict=True):
        if kind != "booleans" or name in "xy":
            columns[name] = np.where(lacking, np.nan, columns[name])
    table = pd.DataFrame(columns)
    if kind == "categories":
        table = table.astype({"a": "category", "b": "category"})
    if is_classifier(family()):
        y = np.digitize(y, np.quantile(y, [0.5] if rng.random() < 0.5 else [0.3, 0.6]))
    features = "from_dtype" if kind == "categories" else ["a", "b"] if as_frame else [0, 2]
    shape = {"max_iter": 4, "min_samples_leaf": 2, "max_leaf_nodes": 9, "categorical_features": features}
    return family(**shape).fit(table if as_frame else table.to_numpy(float), y), kind


def histogram_leaves(model, X):
    """The source's own leaf of every row in every tree: the node that it ends in."""
    X = model._preprocess_X(X, reset=False)
    known, map_ = model._bin_mapper.make_known_categories_bitsets()
    leaves = []
    for stage in model._predictors:
        for predictor in stage:
            tree = copy.deepcopy(predictor)
            tree.nodes["value"] = np.arange(len(tree.nodes))
            leaves.append(tree.predict(X, known, map_, 1))
    return np.transpose(leaves)


@pytest.mark.parametrize("family", HISTOGRAM)
def test_categories_reach_the_leaves_and_values_of_their_source(family):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.data())
    def check(data):
        model, kind = data.draw(fits_with_categories(family))
        ensemble = read_ensemble(model)
        X = rows_of(ensemble, np.random.default_rng(0), 60, unseen=kind != "booleans", missing=kind != "booleans")
        X[:, [0, 2]] = np.where(np.abs(X[:, [0, 2]]) > 50, 0.0, X[:, [0, 2]])  # codes where no split looks
        X[:, [0, 2]] = np.where(np.isnan(X[:, [0, 2]]), np.nan, np.floor(np.abs(X[:, [0, 2]])))
        table = decoded(ensemble, X)
        if not hasattr(model, "feature_names_in_"):
            table = table.to_numpy(float)
        np.testing.assert_allclose(twins.predict(ensemble, X), source_output(model, X, ensemble), rtol=1e-12)
        assert_same_leaves(ensemble, X, histogram_leaves(model, table))
        assert_one_leaf_is_active(ensemble, X)
        assert convert(model).n_features == 4
        assert [labels is None for labels in ensemble.categories] == [False, True, False, True]

    check()


def test_categories_keep_their_labels_without_missing_values():
    X = pd.DataFrame({"x": np.arange(60.0), "c": ["elm", "ash", None] * 20})
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2, categorical_features=["c"])
    ensemble = read_ensemble(model.fit(X, np.arange(60) % 3))
    assert ensemble.categories[0] is None
    assert ensemble.categories[1].tolist() == ["ash", "elm"]
    assert ensemble.feature_names == ("x", "c")


# --- what is refused -------------------------------------------------------------------------------------------------


def refusal(model):
    with pytest.raises(UnsupportedModelError) as caught:
        read_ensemble(model)
    return str(caught.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_unfitted_models_are_refused(family):
    with pytest.raises(NotFittedError, match=rf"^{family.__name__} cannot be read: it is not fitted.*call fit first"):
        read_ensemble(family())


@pytest.mark.parametrize("family", [AdaBoostRegressor, IsolationForest, LinearRegression, RandomTreesEmbedding, dict])
def test_other_classes_are_refused_with_a_list_of_what_is_read(family):
    message = refusal(family())
    assert message.startswith(f"{family.__name__} cannot be read: there is no reader for this class")
    for known in ("DecisionTree", "ExtraTree", "RandomForest", "Bagging", "GradientBoosting", "HistGradientBoosting"):
        assert known in message


def test_a_class_in_place_of_a_model_is_refused():
    assert "RandomForestRegressor cannot be read: it is a class" in refusal(RandomForestRegressor)
    assert "RandomForestRegressor().fit(X, y)" in refusal(RandomForestRegressor)


@pytest.mark.parametrize("family", [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier])
def test_classifiers_of_several_outputs_are_refused(family):
    X, y = example()
    message = refusal(family(**SMALL[family]).fit(X, np.c_[y > 0, y > 1]))
    assert message == (
        f"{family.__name__} cannot be read: it classifies 2 outputs at once. Supported: classifiers of one output."
    )


@pytest.mark.parametrize(
    ("family", "base", "kinds"),
    [
        (BaggingRegressor, LinearRegression(), "bagged regressors"),
        (BaggingRegressor, RandomForestRegressor(n_estimators=2), "bagged regressors"),
        (BaggingRegressor, DecisionTreeClassifier(), "bagged regressors"),
        (BaggingClassifier, DummyClassifier(), "bagged classifiers"),
    ],
)
def test_bags_of_anything_but_trees_are_refused(family, base, kinds):
    X, y = example()
    message = refusal(family(base, n_estimators=2).fit(X, (y > 0).astype(int)))
    assert message.startswith(f"{family.__name__} cannot be read: it bags {type(base).__name__}. Supported: {kinds}")


def test_a_histogram_classifier_of_one_class_is_refused():
    X, _ = example()
    assert "fitted on one class. Supported: classifiers of two" in refusal(
        HistGradientBoostingClassifier(max_iter=2).fit(X, np.zeros(40))
    )


@pytest.mark.parametrize(
    ("family", "init"),
    [
        (GradientBoostingRegressor, LinearRegression()),
        (GradientBoostingClassifier, DecisionTreeClassifier(max_depth=2)),
        (GradientBoostingClassifier, DummyClassifier(strategy="stratified", random_state=0)),
    ],
)
def test_a_first_guess_that_depends_on_the_row_is_refused(family, init):
    message = refusal(fitted(family, init=init))
    assert message.startswith(f"{family.__name__} cannot be read: its first guess is the custom estimator init=")
    assert type(init).__name__ in message
    assert "init=None, init='zero'" in message


@pytest.mark.parametrize("family", BOOSTED + HISTOGRAM)
def test_losses_with_an_unknown_link_are_refused(family):
    model = fitted(family)
    model._loss = SimpleNamespace(link=SimpleNamespace())
    message = refusal(model)
    assert message.startswith(f"{family.__name__} cannot be read: its loss has the link SimpleNamespace")
    assert "LogitLink" in message


@pytest.mark.parametrize("family", TREES + FORESTS + BAGS + BOOSTED)
def test_nodes_with_unknown_fields_in_use_are_refused(family, monkeypatch):
    model = fitted(family)
    monkeypatch.setattr(_sklearn_trees, "NODE_FIELDS", _sklearn_trees.NODE_FIELDS - {"impurity"})
    message = refusal(model)
    assert message.startswith(f"{family.__name__} cannot be read: its nodes use fields that this reader does not know")
    assert "(impurity). Supported: splits at a threshold." in message


def test_nodes_with_unknown_fields_out_of_use_are_read(monkeypatch):
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 1.0])
    monkeypatch.setattr(_sklearn_trees, "NODE_FIELDS", _sklearn_trees.NODE_FIELDS - {"impurity"})
    assert read_ensemble(model).n_leaves == 1


def test_trees_of_another_package_are_refused():
    model = fitted(RandomForestRegressor)
    model.estimators_[0].tree_ = SimpleNamespace()
    message = refusal(model)
    assert message.startswith("RandomForestRegressor cannot be read: its trees are of the kind SimpleNamespace")


def test_a_threshold_that_no_ensemble_can_hold_is_refused_in_the_name_of_the_model():
    model = fitted(HistGradientBoostingRegressor)
    model._predictors[0][0].nodes["num_threshold"][0] = -np.inf
    message = refusal(model)
    assert message.startswith("HistGradientBoostingRegressor cannot be read: threshold must be a number or +inf")


def test_a_library_is_imported_only_for_its_own_models(monkeypatch):
    monkeypatch.setattr(readers, "_LIBRARIES", (*readers._LIBRARIES, "otherlib"))
    assert read_ensemble(fitted(DecisionTreeRegressor)).n_trees == 1
    refusal(42)
    with pytest.raises(ModuleNotFoundError):
        read_ensemble(type("Model", (), {"__module__": "otherlib.trees"})())


# --- rows for the comparison with the source -------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_values_are_accepted_by_all_but_classic_boosting(family):
    model = fitted(family)
    assert _accepts_missing(library_of(model), model, read_ensemble(model)) == (family not in BOOSTED)


@pytest.mark.parametrize("family", FAMILIES)
def test_check_rows_are_rows_that_the_source_takes(family):
    model = fitted(family)
    ensemble = read_ensemble(model)
    X = check_rows(ensemble, n_rows=20, missing=family not in BOOSTED)
    assert X.shape == (20, 3)
    assert np.isnan(X).any() == (family not in BOOSTED)
    np.testing.assert_array_equal(X, check_rows(ensemble, n_rows=20, missing=family not in BOOSTED))
    np.testing.assert_allclose(twins.predict(ensemble, X), source_output(model, X), rtol=1e-12)


def test_check_rows_stay_finite_where_thresholds_leave_the_range_of_float32():
    model = DecisionTreeRegressor().fit([[-3.4e38], [3.4e38], [3.3e38]], [0.0, 1.0, 2.0])
    X = check_rows(read_ensemble(model))
    assert np.isfinite(X.astype(np.float32)).all()


def test_check_rows_show_thresholds_that_are_off_by_one_step():
    X, y = example(n_rows=400)
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X.astype(np.float32), y)
    ensemble = read_ensemble(model)
    rows = check_rows(ensemble)
    up = np.nextafter(ensemble.threshold.astype(np.float32), np.float32(np.inf))
    assert (twins.predict(replace(ensemble, threshold=up), rows) != source_output(model, rows)).mean() > 0.5


def test_check_rows_show_missing_values_that_go_the_wrong_way():
    model = fitted(RandomForestRegressor)
    ensemble = read_ensemble(model)
    rows = check_rows(ensemble, missing=True)
    turned = replace(ensemble, missing_left=~ensemble.missing_left)
    assert (twins.predict(turned, rows) != source_output(model, rows))[1::2].all()


def test_the_source_predicts_in_this_thread_whatever_its_n_jobs():
    calls = []

    class Recorded(DecisionTreeRegressor):
        def predict(self, X):
            calls.append(threading.get_ident())
            return super().predict(X)

    X, y = example()
    model = BaggingRegressor(Recorded(), n_estimators=4).fit(X, y).set_params(n_jobs=2)
    source_output(model, X)
    assert calls == 4 * [threading.get_ident()]


def test_labels_follow_from_scores_by_the_rule_of_the_family():
    """At a score of exactly 0, GradientBoosting predicts the second class and HistGradientBoosting the first."""
    X, y = np.zeros((10, 1)), np.repeat(["no", "yes"], 5)
    for family, label in ((GradientBoostingClassifier, "yes"), (HistGradientBoostingClassifier, "no")):
        model = family(**SMALL[family]).fit(X, y)
        assert twins.scores(read_ensemble(model), X[:1])[0, 0] == 0
        assert model.predict(X[:1])[0] == label
