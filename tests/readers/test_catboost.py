"""CatBoost's models are read exactly: every variant, on many random models."""

import numpy as np
import pytest

import neuralforest as nf
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.readers.check import decoded
from reader_checks import assert_one_leaf_is_active, assert_same_leaves, assert_same_predictions, rows_of, table

catboost = pytest.importorskip("catboost")
pandas = pytest.importorskip("pandas")
from neuralforest.readers import catboost as reader  # noqa: E402

POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
LOSSES = (
    *("MAE", "Quantile:alpha=0.3", "Huber:delta=1", "LogCosh", "Lq:q=3", "Expectile:alpha=0.4", "MAPE"),
    *("Poisson", "Tweedie:variance_power=1.5"),
)


def settings(rng, **others):
    shape = {"iterations": int(rng.integers(1, 8)), "depth": int(rng.integers(1, 5))}
    return {**shape, "verbose": 0, "allow_writing_files": False, "thread_count": 1, **others}


def model(rng, task, frame=False, missing=True, **others):
    X, y = table(rng, missing=missing)
    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    if task != "regression":
        y = np.array(["no", "yes", "maybe"])[np.digitize(y, np.quantile(y, [0.5] if task == "binary" else [0.3, 0.6]))]
    elif "loss_function" in others:
        y = np.abs(y) + 0.1
    if frame:
        X = pandas.DataFrame(X, columns=list("abcd"))
        X[["c", "d"]] = X[["c", "d"]].fillna(0).astype(int).astype(str)
        others |= {"cat_features": ["c", "d"]}
    return kind(**settings(rng, **others)).fit(X, y), X


def check(fitted, rng, X=None):
    e = reader.read_catboost(fitted, X)
    rows = rows_of(e, rng)
    theirs = decoded(e, rows)
    if e.categories is not None:
        theirs[["c", "d"]] = theirs[["c", "d"]].fillna("never seen")
    assert_same_leaves(e, rows, fitted.calc_leaf_indexes(theirs))
    assert_same_predictions(e, rows, reader.output(fitted, rows, e), 1e-14)
    return e, rows


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("nan_mode", ["Min", "Max", "none missing"])
@pytest.mark.parametrize("seed", range(4))
def test_every_variant_is_read_exactly(policy, task, nan_mode, seed):
    rng = np.random.default_rng([seed, len(policy)])
    mode = {"nan_mode": nan_mode} if nan_mode in ("Min", "Max") else {}
    e, X = check(model(rng, task, missing=bool(mode), grow_policy=policy, **mode)[0], rng)
    if task == "regression":
        assert_one_leaf_is_active(e, X)


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_categories_that_are_tested_one_by_one(policy, task, seed):
    rng = np.random.default_rng([seed, len(policy)])
    fitted, X = model(rng, task, frame=True, grow_policy=policy, one_hot_max_size=100)
    e, rows = check(fitted, rng, X)
    assert_one_leaf_is_active(e, rows)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(2))
def test_every_loss_has_its_link(loss, seed):
    rng = np.random.default_rng(seed)
    check(model(rng, "regression", loss_function=loss)[0], rng)


def test_several_targets():
    rng = np.random.default_rng(0)
    X, y = table(rng)
    fitted = catboost.CatBoostRegressor(**settings(rng, loss_function="MultiRMSE")).fit(X, np.column_stack([y, -y]))
    assert check(fitted, rng)[0].n_outputs == 2


def test_early_stopping_keeps_the_best_iterations():
    rng = np.random.default_rng(0)
    X, y = table(rng, 400)
    fitted = catboost.CatBoostRegressor(**settings(rng) | {"iterations": 300}, learning_rate=0.9)
    fitted.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]), early_stopping_rounds=3)
    assert check(fitted, rng)[0].n_trees == fitted.best_iteration_ + 1 < 300


def test_models_without_an_estimator_and_their_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    X, y = table(rng)
    fitted = catboost.CatBoost(settings(rng) | {"loss_function": "Logloss"}).fit(X, (y > 1).astype(int))
    e, rows = check(fitted, rng)
    fitted.save_model(str(tmp_path / "model.cbm"))
    assert_same_predictions(reader.read_file(str(tmp_path / "model.cbm")), rows, reader.output(fitted, rows, e), 1e-14)


def test_categories_need_a_table_that_holds_them():
    fitted, X = model(np.random.default_rng(0), "regression", frame=True, one_hot_max_size=100)
    with pytest.raises(UnsupportedModelError, match="holds hashes of the categories of 'c'"):
        nf.convert(fitted)
    assert nf.convert(fitted, X).ensemble.categories[0] is None


def test_statistics_of_categories_are_refused_with_the_parameter_that_avoids_them():
    fitted, X = model(np.random.default_rng(0), "regression", frame=True, one_hot_max_size=1, iterations=20, depth=4)
    with pytest.raises(UnsupportedModelError, match="fit with one_hot_max_size of at least their number"):
        nf.convert(fitted, X)


def test_other_losses_are_refused_by_name():
    fitted, _ = model(np.random.default_rng(0), "multiclass", loss_function="MultiClassOneVsAll")
    with pytest.raises(UnsupportedModelError, match="its loss_function is MultiClassOneVsAll"):
        nf.convert(fitted)


def test_sums_of_models_and_texts_are_refused():
    rng = np.random.default_rng(0)
    fitted, X = model(rng, "regression")
    with pytest.raises(UnsupportedModelError, match="it holds no loss_function"):
        nf.convert(catboost.sum_models([fitted, fitted]))
    texts = pandas.DataFrame({"a": np.nan_to_num(X[:, 0]), "t": np.where(X[:, 1] > 0, "some words", "other ones")})
    for name, column in (("text", texts["t"]), ("embedding", [[0.0, each] for each in texts["a"]])):
        table = texts.assign(t=column)
        of_kind = catboost.CatBoostRegressor(**settings(rng)).fit(table, texts["a"], **{f"{name}_features": ["t"]})
        with pytest.raises(UnsupportedModelError, match=f"it has {name} features"):
            nf.convert(of_kind)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError, match="CatBoostRegressor cannot be read: it is not fitted"):
        nf.convert(catboost.CatBoostRegressor())
