"""LightGBM's models are read exactly: every variant, on many random models."""

import numpy as np
import pytest

import neuralforest as nf
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from reader_checks import assert_one_leaf_is_active, assert_same_leaves, assert_same_predictions, rows_of, table

lightgbm = pytest.importorskip("lightgbm")
from neuralforest.readers import lightgbm as reader  # noqa: E402

BAG = {"subsample": 0.7, "subsample_freq": 1}
VARIANTS = {
    "gbdt": {},
    "dart": {"boosting_type": "dart"},
    "rf": {"boosting_type": "rf", **BAG},
    "no missing values": {"use_missing": False},
    "zero as missing": {"zero_as_missing": True},
    "categories": {"categorical": [2, 3], "min_data_per_group": 2, "cat_smooth": 1.0},
    "one-hot categories": {"categorical": [2, 3], "max_cat_to_onehot": 50},
    "sigmoid": {"sigmoid": 2.5},
}
OBJECTIVES = ("regression", "l1", "huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie")


def model(rng, task, categorical=(), **settings):
    X, y = table(rng, missing=rng.random() < 0.8)
    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    if task != "regression":
        y = np.digitize(y, np.quantile(y, [0.5] if task == "binary" else [0.3, 0.6]))
    elif settings.get("objective") not in (None, "regression"):
        y = np.abs(y) + 0.1
    shape = {"n_estimators": int(rng.integers(1, 8)), "num_leaves": int(rng.integers(2, 16)), "min_child_samples": 3}
    fitted = kind(**shape, **settings, verbose=-1, n_jobs=1, random_state=0)
    return fitted.fit(X, y, categorical_feature=list(categorical) or "auto")


def check(fitted, rng):
    e = reader.read_lightgbm(fitted)
    X = rows_of(e, rng)
    booster = getattr(fitted, "booster_", fitted)
    assert_same_leaves(e, X, booster.predict(X, pred_leaf=True, validate_features=False))
    assert_same_predictions(e, X, reader.output(fitted, X, e), 1e-15)
    return e, X


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(6))
def test_every_variant_is_read_exactly(variant, task, seed):
    rng = np.random.default_rng([seed, len(variant)])
    e, X = check(model(rng, task, **VARIANTS[variant]), rng)
    if e.aggregation == "sum" and e.link == "identity":
        assert_one_leaf_is_active(e, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_every_objective_has_its_link(objective, seed):
    rng = np.random.default_rng(seed)
    check(model(rng, "regression", objective=objective), rng)


def test_numbers_next_to_zero_go_where_zero_goes():
    rng = np.random.default_rng(0)
    X, y = table(rng)
    e = reader.read_lightgbm(fitted := lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y + (X[:, 0] > 0)))
    zero = float(np.float32(1e-35))
    rows = np.array([0.0, zero, -zero, np.nextafter(zero, 1), np.nextafter(-zero, -1), 1e-300])[:, None] * np.ones(4)
    np.testing.assert_array_equal(nf.convert(fitted).predict(rows), fitted.predict(rows))
    assert e.compare_dtype == "float64"


def test_early_stopping_predicts_with_the_best_iteration():
    rng = np.random.default_rng(0)
    X, y = table(rng, 400)
    stop = lightgbm.early_stopping(2, verbose=False)
    fitted = lightgbm.LGBMRegressor(n_estimators=300, learning_rate=0.5, verbose=-1)
    fitted.fit(X[:200], y[:200], eval_X=(X[200:],), eval_y=(y[200:],), callbacks=[stop])
    e, _ = check(fitted, rng)
    assert e.n_trees == fitted.best_iteration_ < 300


def test_boosters_and_their_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    fitted = model(rng, "binary")
    fitted.booster_.save_model(tmp_path / "model.txt")
    X = rows_of(reader.read_lightgbm(fitted), rng)
    expected = fitted.predict_proba(X)
    for e in (reader.read_lightgbm(fitted.booster_), reader.read_file(str(tmp_path / "model.txt"))):
        assert_same_predictions(e, X, expected, 1e-15)


def test_categories_of_a_frame_are_kept():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = table(rng)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["c"] = pandas.Categorical(rng.choice(["x", "y", "z"], len(X)))
    e = reader.read_lightgbm(lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame, y + (frame.c == "y")))
    assert e.feature_names == ("a", "b", "c", "d")
    assert [None if each is None else each.tolist() for each in e.categories] == [None, None, ["x", "y", "z"], None]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"linear_tree": True}, "its leaves are linear functions"),
        ({"objective": "cross_entropy"}, "its objective is cross_entropy"),
        ({"reg_sqrt": True}, "its objective is regression sqrt"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(settings, reason):
    rng = np.random.default_rng(0)
    X, y = table(rng, missing=False)
    fitted = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, **settings).fit(X, (y > 1) * 1.0)
    with pytest.raises(UnsupportedModelError, match=reason):
        nf.convert(fitted)


def own_objective(y, score):
    return 1 / (1 + np.exp(-score)) - y, np.ones(len(y))


@pytest.mark.parametrize(
    ("settings", "n_classes", "reason"),
    [
        ({"objective": own_objective}, 2, "its objective is custom, whose scores have no known link"),
        ({}, 1, "it was fitted on one class"),
    ],
)
def test_classifiers_without_probabilities_are_refused(settings, n_classes, reason):
    X, y = table(np.random.default_rng(0), missing=False)
    labels = np.digitize(y, np.quantile(y, [0.5] * (n_classes - 1)))
    fitted = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, **settings).fit(X, labels)
    with pytest.raises(UnsupportedModelError, match=reason):
        nf.convert(fitted)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError, match="LGBMRegressor cannot be read: it is not fitted"):
        nf.convert(lightgbm.LGBMRegressor())
