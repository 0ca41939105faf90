"""stochtree's BART is read exactly: regression and probit, one draw, several and all, arrays and data frames."""

import warnings

import numpy as np
import pytest

import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError, NotFittedError, UnsupportedModelError
from reader_checks import assert_one_leaf_is_active, assert_same_predictions, rows_of, table

stochtree = pytest.importorskip("stochtree")
pandas = pytest.importorskip("pandas")
from neuralforest.readers import stochtree as reader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def model(rng, probit=False, frame=False, **general):
    X, y = table(rng, missing=False)
    if frame:
        X = pandas.DataFrame(X, columns=list("abcd"))
        X["c"] = pandas.Categorical(rng.choice(["u", "v", "w"], len(X)))
        X["d"] = pandas.Categorical(rng.choice(["low", "high"], len(X)), categories=["low", "high"], ordered=True)
    if probit:
        y, general = (y > 1).astype(float), {"outcome_model": stochtree.OutcomeModel(outcome="binary", link="probit")}
    fitted = stochtree.BARTModel()
    n_trees, n_draws = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    fitted.sample(
        X_train=X,
        y_train=y,
        num_gfr=2,
        num_mcmc=n_draws,
        general_params={"random_seed": int(rng.integers(1000)), **general},
        mean_forest_params={"num_trees": n_trees},
    )
    return fitted


def draws_of(fitted, X):
    """Return the library's own predictions of each draw, (rows, draws)."""
    scale = "probability" if fitted.outcome_model.link == "probit" else "linear"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fitted.predict(np.array(X), terms="y_hat", scale=scale)).reshape(len(X), -1)


def check(e, X, mean):
    expected = mean if e.classes is None else np.column_stack([1 - mean, mean])
    assert_same_predictions(e, X, expected, 1e-12)


@pytest.mark.parametrize("probit", [False, True], ids=["regression", "probit"])
@pytest.mark.parametrize("seed", range(75))
def test_draws_are_read_exactly(probit, seed):
    rng = np.random.default_rng([seed, probit])
    fitted = model(rng, probit)
    e = nf.convert(fitted).ensemble
    X = rows_of(e, rng)
    draws = draws_of(fitted, X)
    assert e.n_groups == draws.shape[1]
    check(e, X, draws.mean(axis=1))
    check(reader.read_bart(fitted, 1), X, draws[:, -1])
    some = sorted({0, draws.shape[1] - 1})
    check(reader.read_bart(fitted, some), X, draws[:, some].mean(axis=1))
    assert_one_leaf_is_active(e, X)


@pytest.mark.parametrize("seed", range(5))
def test_categories_of_a_data_frame_are_splits_by_category(seed):
    rng = np.random.default_rng(seed)
    fitted = model(rng, frame=True)
    e = nf.convert(fitted).ensemble
    assert [None if each is None else list(each) for each in e.categories][2:] == [["u", "v", "w"], ["low", "high"]]
    X = rows_of(e, rng, missing=False, unseen=False)
    X[:, 2], X[:, 3] = rng.integers(0, 3, len(X)), rng.integers(0, 2, len(X))
    check(e, X, reader.output(fitted, X, e))


@pytest.mark.parametrize("probit", [False, True], ids=["regression", "probit"])
@pytest.mark.parametrize("seed", range(3))
def test_booleans_of_a_data_frame(probit, seed):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame({"x": rng.normal(size=200), "b": rng.random(200) < 0.5, "c": rng.random(200) < 0.3})
    y = frame.x + 2.0 * frame.b - frame.c
    probit_model = {"outcome_model": stochtree.OutcomeModel(outcome="binary", link="probit")} if probit else {}
    fitted = stochtree.BARTModel()
    fitted.sample(
        X_train=frame,
        y_train=((y > 0.5) if probit else y).to_numpy(float),
        num_gfr=5,
        num_mcmc=5,
        general_params={"random_seed": seed, **probit_model},
        mean_forest_params={"num_trees": 8},
    )
    e = nf.convert(fitted).ensemble
    X = frame.to_numpy(float)
    check(e, X, reader.output(fitted, X, e)[..., -1] if probit else reader.output(fitted, X, e))


@pytest.mark.parametrize("draws", [0, 99, [7], [-1], [], 1.5, "3", [True]], ids=str)
def test_draws_that_do_not_exist_are_refused(draws):
    with pytest.raises(InvalidParameterError, match=r"draws must be a (whole )?number"):
        nf.convert(model(np.random.default_rng(0)), draws=draws)


def test_other_models_have_no_draws():
    from sklearn.tree import DecisionTreeRegressor

    with pytest.raises(InvalidParameterError, match="draws for BART models only, got draws for DecisionTreeRegressor"):
        nf.convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), draws=2)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError, match="BARTModel cannot be read: it is not fitted"):
        nf.convert(stochtree.BARTModel())


def test_a_leaf_basis_is_refused():
    rng = np.random.default_rng(0)
    X, y = table(rng, missing=False)
    fitted = stochtree.BARTModel()
    fitted.sample(X_train=X, y_train=y, leaf_basis_train=np.ones((len(X), 1)), num_gfr=1, num_mcmc=1)
    with pytest.raises(UnsupportedModelError, match="random effects, a leaf basis or no mean forest"):
        nf.convert(fitted)
