"""Splits on categories, numbers that mean a missing value, and groups, in ONNX and in torch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

import export_twins as twins
import neuralforest as nf
from export_runs import prediction, run
from neuralforest.network.stacking import StackedModel
from reader_checks import rows_of, table

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")

from neuralforest.export.onnx import to_onnx  # noqa: E402
from neuralforest.export.torch import from_torch, to_torch  # noqa: E402

FAST = settings(max_examples=60, deadline=None, derandomize=True)
MODES = [(training, connectivity) for training in ("independent", "joint") for connectivity in ("sparse", "full")]


def with_categories(rng, e):
    """The same trees with some features as categories, and with numbers that mean a missing value."""
    n_categories = np.where(rng.random(e.n_features) < 0.6, rng.integers(1, 7, e.n_features), 0)
    size = np.where(n_categories[e.feature] > 0, rng.integers(1, 1 + np.maximum(n_categories, 1))[e.feature] + 1, 0)
    labels = tuple(np.arange(n + 2) if n and rng.random() < 0.5 else None for n in n_categories)
    missing_range = np.where(rng.random((e.n_features, 1)) < 0.4, [-0.1, 0.2], np.nan)
    return replace(
        e,
        first_category=np.cumsum([0, *size]),
        category_left=rng.random(size.sum()) < 0.5,
        missing_range=missing_range,
        categories=labels,
    )


def random_rows(rng, e, n):
    """Rows with missing values, negative and unknown categories, and fractions."""
    X = twins.random_rows(rng, e, n)
    for feature in np.unique(e.feature[e.is_categorical]):
        X[:, feature] = np.where(np.isnan(X[:, feature]), np.nan, rng.integers(-2, 10, n))
        X[: n // 8, feature] += 0.5
    return X.astype(np.float32).astype(np.float64)


def run_torch(module, X):
    with torch.no_grad():
        return module(torch.tensor(X)).numpy()


def assert_exports_predict(network, X, expected=None, tolerance=1e-5):
    """Compare both exports with the network, or with given predictions."""
    expected = twins.prediction(network, X) if expected is None else expected
    unit = tolerance * (np.abs(expected) + twins.spread(network, expected))
    dtype = "float64" if network.ensemble.compare_dtype == "float64" else "float32"
    for form in ("dense", "sparse"):
        outputs = run(to_onnx(network, form=form, dtype=dtype), X)
        assert (np.abs(prediction(outputs) - expected) <= unit).all()
    assert (np.abs(run_torch(to_torch(network), X) - expected) <= unit).all()
    if network.classes is not None and expected.shape[1] == 2:
        sure = np.abs(expected[:, 0] - 0.5) > 1e-4
        assert (outputs["label"] == network.predict(X))[sure].all()


@FAST
@given(twins.networks(), st.integers(0, 9999))
def test_hard_trees_predict_as_predict(network, seed):
    rng = np.random.default_rng(seed)
    network = nf.ForestNetwork(with_categories(rng, network.ensemble))
    assert_exports_predict(network, random_rows(rng, network.ensemble, 60), tolerance=1e-6)


@FAST
@given(
    st.sampled_from(twins.KINDS),
    st.sampled_from(MODES),
    st.sampled_from([0.0, 0.5]),
    st.booleans(),
    st.integers(0, 999),
)
def test_soft_trees_predict_as_predict(kind, mode, hard, wide, seed):
    rng = np.random.default_rng(seed)
    groups = None if seed % 2 else [0, 1, 4]
    e = twins.random_ensemble(rng, kind, (5, 1, 4, 7), compare_dtype="float64" if wide else "float32", groups=groups)
    mode = mode if e.aggregation == "mean" else ("joint", mode[1])
    network = twins.soften(rng, nf.ForestNetwork(with_categories(rng, e)), *mode, hard=hard)
    X = random_rows(rng, e, 60)
    assert_exports_predict(network, X)
    back = from_torch(to_torch(network))
    assert back.soft.parameters.tobytes() == network.soft.parameters.tobytes()


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_trained_weights_come_back(connectivity):
    rng = np.random.default_rng(0)
    e = with_categories(rng, twins.random_ensemble(rng, "mean", (6, 5, 7), n_features=4))
    module = to_torch(twins.soften(rng, nf.ForestNetwork(e), "independent", connectivity, hard=0))
    assert sum(weights.numel() for weights in module.parameters()) == module.network.n_parameters
    X = random_rows(rng, e, 40)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    x = torch.tensor(X, requires_grad=True)
    (module(x) ** 2).mean().backward()
    assert module.soft.w1.grad.abs().sum() > 0
    assert x.grad.isfinite().all()
    optimiser.step()
    np.testing.assert_allclose(run_torch(module, X)[:, 0], from_torch(module).predict(X), rtol=1e-4, atol=1e-5)
    rows = {"x": {0: torch.export.Dim("rows", min=1)}}
    program = torch.export.export(module, (torch.tensor(X[:5]),), dynamic_shapes=rows)
    np.testing.assert_allclose(program.module()(torch.tensor(X)).detach(), run_torch(module, X), rtol=1e-6)


@pytest.mark.parametrize("soft", [False, True])
def test_groups_of_a_probit_average_their_probabilities(soft):
    rng = np.random.default_rng(1)
    e = twins.random_ensemble(rng, "logit", (4, 3, 5, 2, 6), groups=[0, 2, 3, 5])
    network = nf.ForestNetwork(replace(with_categories(rng, e), link="probit"))
    X = random_rows(rng, e, 200)
    if soft:
        network = twins.soften(rng, network, "joint", "sparse", hard=0)
        for hard in ([False] * 3, [True, False, False]):
            assert_exports_predict(network.with_parameters(network.soft.parameters, np.array(hard)), X)
    assert_exports_predict(network, X)
    module = to_torch(network)
    with torch.no_grad():
        raw = module.output(torch.tensor(X)).numpy()
    np.testing.assert_allclose(raw, network.output(X), rtol=1e-4, atol=1e-5)
    if soft:
        assert from_torch(module).soft.parameters.tobytes() == network.soft.parameters.tobytes()


@pytest.mark.parametrize("classifier", [False, True])
def test_base_models_have_categories_too(classifier):
    rng = np.random.default_rng(2)
    kinds = ("forest", "softmax") if classifier else ("mean", "sum")
    e, base = (with_categories(rng, twins.random_ensemble(rng, kind, (5, 6, 4))) for kind in kinds)
    network = twins.soften(rng, nf.ForestNetwork(e), "independent", "sparse", hard=0.4)
    network = network.with_base_models((StackedModel("gradient_boosting", nf.ForestNetwork(base), 0.3),))
    assert base.is_categorical.any()
    assert_exports_predict(network, random_rows(rng, e, 100))


# --- models of other libraries: compared with their own predictions --------------------------------------------------


def assert_exports_the_model(network, X, theirs):
    """Compare the hard network with the library, and a soft one with the package."""
    theirs = theirs.reshape(len(X), -1)
    if network.classes is not None and theirs.shape[1] == 1:
        theirs = np.hstack([1 - theirs, theirs])
    assert network.ensemble.is_categorical.any()
    assert_exports_predict(network, X, theirs)
    assert_exports_predict(network.soften((3, 1), training="joint", scale=np.nanstd(X, axis=0) + 1), X)


@pytest.mark.parametrize("task", ["poisson", "binary", "zero as missing"])
def test_lightgbm(task):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(np.random.default_rng(0), 300)
    options = {"n_estimators": 9, "num_leaves": 12, "min_child_samples": 3, "min_data_per_group": 2, "verbose": -1}
    if task == "binary":
        model = lightgbm.LGBMClassifier(**options).fit(X, y > 1, categorical_feature=[2, 3])
    else:
        kind = {"objective": "poisson"} if task == "poisson" else {"zero_as_missing": True}
        model = lightgbm.LGBMRegressor(**options, **kind).fit(X, np.abs(y), categorical_feature=[2, 3])
    network = nf.convert(model)
    assert np.isfinite(network.ensemble.missing_range).any() == (task == "zero as missing")
    X = rows_of(network.ensemble, np.random.default_rng(1))
    theirs = model.predict_proba(X) if task == "binary" else model.predict(X)
    assert_exports_the_model(network, X, theirs)


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y = table(np.random.default_rng(0), 300)
    X[:, 2:] = np.where(np.isnan(X[:, 2:]), np.nan, np.abs(X[:, 2:]))
    types = {"feature_types": ["q", "q", "c", "c"], "enable_categorical": True, "max_cat_to_onehot": 1}
    model = xgboost.XGBRegressor(n_estimators=9, max_depth=4, **types).fit(X, y)
    assert_exports_the_model(nf.convert(model), X, model.predict(X))


def test_catboost():
    catboost, pandas = pytest.importorskip("catboost"), pytest.importorskip("pandas")
    X, y = table(np.random.default_rng(0), 300, missing=False)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame[["c", "d"]] = frame[["c", "d"]].astype(int).astype(str)
    options = {"iterations": 9, "depth": 4, "one_hot_max_size": 99, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**options, cat_features=["c", "d"]).fit(frame, y > 1)
    network = nf.convert(model, frame)
    codes = X.copy()
    for feature, name in ((2, "c"), (3, "d")):
        place = {label: code for code, label in enumerate(network.ensemble.categories[feature].tolist())}
        codes[:, feature] = [place.get(label, -1) for label in frame[name]]
    assert_exports_the_model(network, codes, model.predict_proba(frame))


def test_histogram_gradient_boosting():
    X, y = table(np.random.default_rng(0), 300)
    X = np.abs(X)
    model = HistGradientBoostingRegressor(max_iter=9, categorical_features=[2, 3]).fit(X, y)
    network = nf.convert(model)
    codes = X.copy()
    for feature in (2, 3):
        known = network.ensemble.categories[feature]
        codes[:, feature] = np.where(np.isnan(X[:, feature]), np.nan, np.searchsorted(known, X[:, feature]))
    assert_exports_the_model(network, codes, model.predict(X))


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("classifier", [False, True])
def test_an_estimator_of_a_table(connectivity, classifier):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"size": rng.normal(size=400), "kind": rng.choice(list("abcdef"), 400)})
    X.loc[rng.random(400) < 0.1, "kind"] = None
    y = X["size"] + 2 * X.kind.isin(["a", "d"]) + 0.1 * rng.normal(size=400)
    y = np.where(y > 1, "high", "low") if classifier else y
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    model = kind(max_epochs=3, connectivity=connectivity, random_state=0).fit(X, y)
    new = X.assign(kind=np.where(np.arange(400) % 9, X.kind, "never seen"))
    codes = model._encoder.encode(new)
    expected = model.predict_proba(new) if classifier else model.predict(new)[:, None]
    assert np.abs(prediction(run(to_onnx(model), codes)) - expected).max() < 1e-5
    assert np.abs(run_torch(to_torch(model), codes) - expected).max() < 1e-5
