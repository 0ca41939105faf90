"""XGBoost's models are read exactly: every variant, on many random models."""

import numpy as np
import pytest

import neuralforest as nf
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from reader_checks import assert_one_leaf_is_active, assert_same_leaves, assert_same_predictions, rows_of, table

xgboost = pytest.importorskip("xgboost")
from neuralforest.readers import xgboost as reader  # noqa: E402

CATEGORIES = {"feature_types": ["q", "q", "c", "c"], "enable_categorical": True}
VARIANTS = {
    "gbtree": {},
    "dart": {"booster": "dart", "rate_drop": 0.4},
    "random forest": {"num_parallel_tree": 3, "subsample": 0.7},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 7},
    "exact": {"tree_method": "exact"},
    "categories": {**CATEGORIES, "max_cat_to_onehot": 1},
    "one-hot categories": {**CATEGORIES, "max_cat_to_onehot": 50},
    "base score": {"base_score": 0.3},
}
OBJECTIVES = (
    *("reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror"),
    *("count:poisson", "reg:gamma", "reg:tweedie"),
)


def model(rng, task, kind=None, **settings):
    X, y = table(rng)
    X[:, 2:] = np.abs(X[:, 2:])
    kind = kind or (xgboost.XGBRegressor if task in ("regression", "multi-output") else xgboost.XGBClassifier)
    if task in ("binary", "multiclass"):
        y = np.digitize(y, np.quantile(y, [0.5] if task == "binary" else [0.3, 0.6]))
    elif task == "multi-output":
        y = np.column_stack([y, -y])
    elif "objective" in settings:
        y = np.abs(y) + 0.1
    shape = {"n_estimators": int(rng.integers(1, 8)), "max_depth": int(rng.integers(1, 5))}
    return kind(**shape, **settings, n_jobs=1, random_state=0).fit(X, y)


def check(fitted, rng):
    e = reader.read_xgboost(fitted)
    X = rows_of(e, rng)
    booster = fitted.get_booster() if hasattr(fitted, "get_booster") else fitted
    matrix = xgboost.DMatrix(
        X, feature_names=booster.feature_names, feature_types=booster.feature_types, enable_categorical=True
    )
    last = getattr(fitted, "best_iteration", -1) + 1 if fitted is not booster else 0
    assert_same_leaves(e, X, booster.predict(matrix, pred_leaf=True, iteration_range=(0, last)))
    assert_same_predictions(e, X, reader.output(fitted, X, e), 2e-6)
    return e, X


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(6))
def test_every_variant_is_read_exactly(variant, task, seed):
    if variant == "base score" and task == "multiclass":
        pytest.skip("several classes take no single base score")
    rng = np.random.default_rng([seed, len(variant)])
    e, X = check(model(rng, task, **VARIANTS[variant]), rng)
    if task == "regression":
        assert_one_leaf_is_active(e, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(2))
def test_every_objective_has_its_link(objective, seed):
    rng = np.random.default_rng(seed)
    check(model(rng, "regression", objective=objective), rng)


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_targets(strategy):
    rng = np.random.default_rng(0)
    e, _ = check(model(rng, "multi-output", multi_strategy=strategy, tree_method="hist"), rng)
    assert e.n_outputs == 2


@pytest.mark.parametrize("name", ["XGBRFRegressor", "XGBRFClassifier"])
def test_random_forests(name):
    rng = np.random.default_rng(0)
    check(model(rng, "regression" if "Regressor" in name else "multiclass", getattr(xgboost, name)), rng)


def test_early_stopping_predicts_with_the_best_iteration():
    rng = np.random.default_rng(0)
    X, y = table(rng, 400)
    fitted = xgboost.XGBRegressor(n_estimators=300, learning_rate=0.8, early_stopping_rounds=2)
    fitted.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=0)
    e, _ = check(fitted, rng)
    assert e.n_trees == fitted.best_iteration + 1 < 300


@pytest.mark.parametrize("settings", [{}, {"booster": "dart", "rate_drop": 0.3}, {"num_parallel_tree": 2}], ids=str)
@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_files_of_estimators_predict_with_the_best_iteration(settings, ending, tmp_path):
    """A file holds all trees; an estimator that loads it predicts with the best iteration, a Booster with all."""
    rng = np.random.default_rng(0)
    X, y = table(rng, 400)
    fitted = xgboost.XGBRegressor(n_estimators=60, learning_rate=0.8, early_stopping_rounds=2, **settings)
    fitted.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=0)
    path = str(tmp_path / f"model.{ending}")
    fitted.save_model(path)
    e = reader.read_file(path)
    assert e.n_trees == (fitted.best_iteration + 1) * settings.get("num_parallel_tree", 1)
    assert e.n_trees < len(fitted.get_booster().get_dump())
    rows = rows_of(e, rng)
    loaded = xgboost.XGBRegressor()
    loaded.load_model(path)
    assert_same_predictions(e, rows, loaded.predict(rows), 2e-6)
    booster = xgboost.train({}, xgboost.DMatrix(X, y), 5)
    booster.set_attr(best_iteration="1")  # as early stopping does
    booster.save_model(path)
    assert reader.read_file(path).n_trees == 5


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "multi:softmax", "rank:pairwise"])
@pytest.mark.parametrize("ending", [None, "json", "ubj"])
def test_boosters_and_their_files_are_read(objective, ending, tmp_path):
    rng = np.random.default_rng(0)
    X, y = table(rng)
    classes = {"num_class": 3} if objective.startswith("multi") else {}
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6] if classes else [0.5]))
    data = xgboost.DMatrix(X, labels, **({"qid": np.repeat([0, 1], 60)} if objective.startswith("rank") else {}))
    booster = xgboost.train({"objective": objective, **classes}, data, 3)
    e = reader.read_xgboost(booster)
    if ending is not None:
        booster.save_model(tmp_path / f"model.{ending}")
        e = reader.read_file(str(tmp_path / f"model.{ending}"))
    X = rows_of(e, rng)
    assert_same_predictions(e, X, reader.output(booster, X, e), 2e-6)


def test_categories_of_a_frame_are_kept():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = table(rng)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["c"] = pandas.Categorical(rng.choice(["x", "y", "z"], len(X)))
    fitted = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, y + (frame.c == "z"))
    e = nf.convert(fitted).ensemble
    assert e.feature_names == ("a", "b", "c", "d")
    assert [None if each is None else each.tolist() for each in e.categories] == [None, None, ["x", "y", "z"], None]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"objective": "reg:logistic"}, "its objective is reg:logistic"),
        ({"objective": "survival:cox"}, "its objective is survival:cox"),
        ({"booster": "gblinear"}, "its booster is gblinear"),
        ({"missing": 0.0}, "it was fitted with missing=0.0"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(settings, reason):
    rng = np.random.default_rng(0)
    X, y = table(rng, missing=False)
    fitted = xgboost.XGBRegressor(n_estimators=2, **settings).fit(X, (y > 1) * 1.0)
    with pytest.raises(UnsupportedModelError, match=reason):
        nf.convert(fitted)


def test_several_labels_and_single_classes_are_refused():
    X, y = table(np.random.default_rng(0), missing=False)
    for labels, reason in (
        (np.column_stack([y > 1, y > 0]).astype(int), "it predicts 2 labels of a row at once"),
        (np.zeros(len(y), int), "it was fitted on one class"),
    ):
        with pytest.raises(UnsupportedModelError, match=reason):
            nf.convert(xgboost.XGBClassifier(n_estimators=2).fit(X, labels))


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError, match="XGBRegressor cannot be read: it is not fitted"):
        nf.convert(xgboost.XGBRegressor())
