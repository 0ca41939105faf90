"""Input that no model can use, or that other models get wrong: the right answer, or a ValueError with the reason."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

import neuralforest as nf
from neuralforest.estimators import forests
from neuralforest.exceptions import NeuralForestError, TableWarning
from small_models import boosted, classification, forest, output, problem, regression, small, small_boosted

BOTH = pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])


# Targets.


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e150, 1e-150])
def test_targets_that_cannot_be_squared_are_refused(factor):
    X, y = regression()
    with pytest.raises(ValueError, match=r"range of at least 1e-100 and no value beyond 1e\+100.*multiply y"):
        small().fit(X, y * factor)


GROWN_ON_STANDARDIZED = {
    "default": lambda: None,
    "random forest": forest,
    "extra trees": lambda: ExtraTreesRegressor(4, max_leaf_nodes=8, bootstrap=True),
    "bagging": lambda: BaggingRegressor(ExtraTreeRegressor(max_leaf_nodes=8), 4),
    "tree": lambda: DecisionTreeRegressor(max_leaf_nodes=8),
}


@pytest.mark.parametrize("source", GROWN_ON_STANDARDIZED)
@pytest.mark.parametrize(("factor", "shift"), [(1e-9, 0.0), (2.0**-300, 0.0), (1.0, 1e9), (1e-9, 1e-3)])
def test_targets_of_a_tiny_range_or_far_from_0_grow_the_same_trees(source, factor, shift):
    X, y = regression()
    plain, scaled = (
        small(max_epochs=1).set_params(forest=GROWN_ON_STANDARDIZED[source]()).fit(X, target)
        for target in (y, factor * y + shift)
    )
    same = np.isclose((scaled.forest_.predict(X) - shift) / factor, plain.forest_.predict(X), atol=1e-5)
    assert same.mean() > 0.5  # rounding decides between equally good splits
    assert scaled.forest_loss_ == pytest.approx(plain.forest_loss_, rel=0.05)


@pytest.mark.parametrize(
    "source", [boosted(), forest(criterion="poisson"), forest(min_impurity_decrease=1e-30), forest(ccp_alpha=1e-30)]
)
def test_a_tiny_range_is_refused_by_forests_whose_parameters_have_its_units(source):
    X, y = regression()
    with pytest.raises(ValueError, match=r"range of at least 1e-06 for .*got a range of .*multiply y"):
        small(source=source, training="joint").fit(X, 1e-9 * y)


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT])
@BOTH
def test_a_target_without_a_value_is_refused(classifier, missing):
    X, y = problem(classifier)
    target = np.array(y if not classifier else list("abc"), object)[y if classifier else slice(None)]
    target[7] = missing
    for rows in (target, pd.Series(target)):
        with pytest.raises(
            ValueError, match=r"y must have a value for every row, got .* in row 7: leave such|contains NaN"
        ):
            small(classifier).fit(X, rows)


def test_dates_are_refused_as_features():
    X, y = regression()
    dates = pd.date_range("2020", periods=len(y))
    for table in (
        pd.DataFrame({"a": X[:, 0], "when": dates}),
        pd.DataFrame({"a": X[:, 0], "when": dates.date}),
        dates.to_numpy()[:, None],
        np.column_stack([X.astype(object), dates.date]),
    ):
        with pytest.raises(ValueError, match=r"must hold numbers.*such as days"):
            small().fit(table, y)


def test_columns_far_from_0_are_reported_where_trees_compare_in_float32():
    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(b=X[:, 1] + 1e9)
    with pytest.warns(TableWarning, match=r"column 'b' varies by .* around 1e\+09, .* steps of 64 only.*subtract"):
        small().fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TableWarning)
        small().fit(X + 1e4, y)
        small().fit(frame.assign(b=1e9), y)
        small(source=HistGradientBoostingRegressor(max_iter=3), training="joint").fit(frame, y)


def test_lazy_tables_are_refused():
    X, y = regression()
    model = small().fit(pd.DataFrame(X, columns=list("abcd")), y)
    for call in (lambda table: small().fit(table, y), model.predict):
        with pytest.raises(ValueError, match=r"X must be a table in memory, got a lazy LazyFrame: call collect\(\)"):
            call(pl.DataFrame(X, schema=list("abcd")).lazy())
    dd = pytest.importorskip("dask.dataframe")
    with pytest.raises(ValueError, match=r"X must be a table in memory, got a lazy DataFrame: call compute\(\)"):
        small().fit(dd.from_pandas(pd.DataFrame(X, columns=list("abcd"))), y)


def test_times_are_refused_as_targets():
    X, y = regression()
    for times in (pd.date_range("2020", periods=len(y)), np.arange(len(y)).astype("m8[s]"), np.zeros(len(y), "M8[D]")):
        with pytest.raises(ValueError, match=r"y must hold numbers, got .*such as days$"):
            small().fit(X, times)


@pytest.mark.parametrize("fitted", [False, True])
def test_monotonic_constraints_are_refused(fitted):
    X, y = regression()
    for source in (
        forest(monotonic_cst=[1, 0, 0, 0]),
        BaggingRegressor(DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0], max_leaf_nodes=8), 3),
        HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0], max_iter=3),
    ):
        given = source.fit(X, y) if fitted else source
        with pytest.raises(ValueError, match=r"no monotonic constraints.*monotonic_cst=\[1, 0, 0, 0\].*convert"):
            small(source=given, training="joint").fit(X, y)


def boosters():
    """Boosters of other libraries, which keep a constraint under names and in forms of their own."""
    X, y = regression()
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    few = {"n_estimators": 2, "verbose": -1}
    yield True, lightgbm.LGBMRegressor(mc=[1, 0, 0, 0], **few)
    yield True, lightgbm.train({"monotone_constraints": [0, -1, 0, 0], "verbose": -1}, lightgbm.Dataset(X, y), 2)
    yield True, xgboost.XGBRegressor(monotone_constraints="(0,1,0,0)", n_estimators=2)
    for booster in ("gbtree", "dart"):
        settings = {"monotone_constraints": "(0,0,1,0)", "booster": booster}
        yield True, xgboost.train(settings, xgboost.DMatrix(X, y), 2)
    yield True, catboost.CatBoostRegressor(monotone_constraints="0:0,2:-1", iterations=2, verbose=0)
    yield True, catboost.CatBoostRegressor(monotone_constraints={"1": 1}, iterations=2, verbose=0)
    yield False, lightgbm.LGBMRegressor(monotone_constraints=[0, 0, 0, 0], **few)
    yield False, xgboost.XGBRegressor(monotone_constraints="(0,0,0,0)", n_estimators=2)
    yield False, HistGradientBoostingRegressor(monotonic_cst={}, max_iter=2)
    yield False, xgboost.train({}, xgboost.DMatrix(X, y), 2)
    yield False, lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 2)


def test_monotonic_constraints_of_other_libraries_are_refused():
    for is_constrained, source in boosters():
        if is_constrained:
            with pytest.raises(ValueError, match=r"no monotonic constraints"):
                forests.source_of(source, False)
        else:
            assert forests.source_of(source, False) is source


@pytest.mark.parametrize("factor", [1e90, 1e-5])
@pytest.mark.parametrize("shift", [0, 1e6])
def test_units_of_the_target_do_not_matter_where_they_can_be_squared(factor, shift):
    X, y = regression()
    plain, scaled = small().fit(X, y), small().fit(X, (y + shift) * factor)
    np.testing.assert_allclose(scaled.predict(X) / factor - shift, plain.predict(X), atol=1e-2)


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 1e-300, 1e99])
@pytest.mark.parametrize("make", [small, small_boosted])
def test_a_constant_target_comes_back_exactly(make, value):
    X, y = regression()
    constant = np.full(len(X), value)
    model = make().fit(X, constant)
    np.testing.assert_array_equal(model.predict(X), constant)
    np.testing.assert_array_equal(model.predict(X + 100), constant)
    np.testing.assert_allclose(model.predict_quantiles(X[:3]), value, rtol=1e-12)
    if value > 1:  # the rounding errors of its squares would drown the other target in the trees themselves
        return
    both = small().fit(X, np.column_stack([y, constant]))
    np.testing.assert_array_equal(both.predict(X)[:, 1], constant)
    assert np.corrcoef(both.predict(X)[:, 0], y)[0, 1] > 0.8


def test_a_target_that_varies_by_rounding_only_counts_as_constant():
    X, _ = regression()
    y = np.where(X[:, 0] > 0, 0.3, 0.1 + 0.2)
    np.testing.assert_allclose(small().fit(X, y).predict(X), y, rtol=1e-14)


def test_rows_that_are_not_constant_in_partial_fit_end_a_constant_prediction():
    X, y = regression()
    model = small().fit(X, np.zeros(len(X)))
    assert (model.predict(X) == 0).all()
    assert model.partial_fit(X, y + 5, n_epochs=100).predict(X).mean() > 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_target_that_is_not_finite_is_refused(bad):
    X, y = regression()
    spoilt = np.where(np.arange(len(y)) == 5, bad, y)
    with pytest.raises(ValueError, match="Input y contains"):
        small().fit(X, spoilt)
    with pytest.raises(ValueError, match="Input y contains"):
        small().fit(X, y, X_val=X, y_val=spoilt)
    with pytest.raises(ValueError, match="Input y contains"):
        small().fit(X, y).partial_fit(X, spoilt)


def test_a_target_beyond_the_range_of_the_network_is_refused():
    X, y = regression()
    with pytest.raises(ValueError, match="y must lie within 1e\\+15"):
        small(standardize=False).fit(X, y * 1e50)
    with pytest.raises(ValueError, match="y must lie within 1e\\+15"):
        small().fit(X, y).partial_fit(X, y * 1e30)
    with pytest.raises(ValueError, match="y must lie within 1e\\+15"):
        small().fit(X, y, X_val=X, y_val=y * 1e30)


@pytest.mark.parametrize("labels", [[0.1, 0.2, 0.7], [1.5, np.nan, 2.5]])
def test_labels_that_are_no_classes_are_refused(labels):
    X, y = classification()
    with pytest.raises(ValueError, match=r"Unknown label type|Input y contains NaN"):
        small(classifier=True).fit(X, np.array(labels)[y])


@pytest.mark.parametrize("make", [small, lambda classifier: small(classifier, validation="fraction")])
def test_one_class_is_predicted_with_certainty(make):
    X, _ = classification()
    model = make(classifier=True).fit(X, np.full(len(X), "only"))
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_allclose(model.predict_proba(X), 1, atol=1e-6)


def test_boosting_needs_two_classes():
    X, _ = classification()
    with pytest.raises(ValueError, match="class"):
        small_boosted(classifier=True).fit(X, np.zeros(len(X)))


def test_classes_that_the_forest_was_not_fitted_on_are_refused():
    X, y = classification()
    model = small(classifier=True).fit(X, y)
    with pytest.raises(ValueError, match=r"only the classes that the forest was fitted on, \[0, 1, 2\], got \[7\] too"):
        small(classifier=True).fit(X, y, X_val=X, y_val=np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match=r"only the classes that the forest was fitted on, \[0, 1, 2\], got \[7\] too"):
        model.partial_fit(X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match=r"classes must be those .*\[0, 1, 2\], got \[0, 1, 2, 3\]"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="begin with rows of all classes"):
        small(classifier=True).partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="only the classes that the forest was fitted on"):
        small(classifier=True, source=model.forest_).fit(X, y + 1)


# Numbers of rows.


@BOTH
@pytest.mark.parametrize("validation", ["oob", "fraction"])
def test_one_row_is_refused_unless_validation_rows_are_given(classifier, validation):
    X, y = problem(classifier)
    with pytest.raises(ValueError, match="n_samples = 1"):
        small(classifier, validation=validation).fit(X[:1], y[:1])
    model = small(classifier, validation=validation).fit(X[:1], y[:1], X_val=X[:1], y_val=y[:1])
    np.testing.assert_array_equal(model.predict(X[:5]), y[[0] * 5])


@BOTH
def test_zero_rows_are_refused(classifier):
    X, y = problem(classifier)
    model = small(classifier).fit(X, y)
    for attempt in (
        lambda: small(classifier).fit(X[:0], y[:0]),
        lambda: small(classifier).fit(X, y, X_val=X[:0], y_val=y[:0]),
        lambda: model.predict(X[:0]),
        lambda: model.partial_fit(X[:0], y[:0]),
    ):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            attempt()


def test_two_classes_of_one_row_each_leave_none_for_validation():
    with pytest.raises(ValueError, match=r"2 rows of the same class of positive weight.*n_samples = 2 in 2 classes"):
        small(classifier=True, validation="fraction").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("n", [2, 3, 5])
@BOTH
def test_few_rows_are_enough(classifier, n):
    X, y = problem(classifier)
    y = np.arange(n) // 2 if classifier else y[:n]
    model = small(classifier, validation="fraction").fit(X[:n], y)
    assert np.isfinite(output(model, X)).all()


# Features.


@BOTH
def test_infinite_features_are_refused(classifier):
    X, y = problem(classifier)
    spoilt = X.copy()
    spoilt[3, 1] = np.inf
    model = small(classifier).fit(X, y)
    for attempt in (
        lambda: small(classifier).fit(spoilt, y),
        lambda: small(classifier).fit(X, y, X_val=spoilt, y_val=y),
        lambda: model.predict(spoilt),
        lambda: model.partial_fit(spoilt, y),
    ):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            attempt()


def test_features_too_large_for_the_trees_are_refused_and_all_others_are_answered():
    X, y = regression()
    model = small(connectivity="full").fit(X, y)
    with pytest.raises(ValueError, match="too large for dtype\\('float32'\\)"):
        model.predict(X * 1e300)
    boosted_model = small(source=HistGradientBoostingRegressor(max_iter=5), training="joint").fit(X, y)
    for each, factor in ((model, 1e38), (boosted_model, 1e300)):
        assert np.isfinite(each.predict(np.clip(X, -3, 3) * factor)).all()


@BOTH
def test_other_numbers_of_features_are_refused(classifier):
    X, y = problem(classifier)
    model = small(classifier).fit(X, y)
    more = np.column_stack([X, X])
    for attempt in (
        lambda: model.predict(more),
        lambda: model.apply(X[:, :2]),
        lambda: model.partial_fit(more, y),
        lambda: model.set_params(warm_start=True).fit(more, y),
        lambda: small(classifier).fit(X, y, X_val=more, y_val=y),
    ):
        with pytest.raises(ValueError, match="features"):
            attempt()
    assert model.n_features_in_ == 4
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda columns: pl.DataFrame(dict(columns))])
def test_columns_in_another_order_are_refused(frame):
    X, y = regression()
    ordered = frame({name: X[:, i] for i, name in enumerate("abcd")})
    reordered = frame({name: X[:, i] for i, name in enumerate("dcba")})
    model = small().fit(ordered, y)
    grown = forest().fit(ordered, y)
    for attempt in (
        lambda: model.predict(reordered),
        lambda: model.partial_fit(reordered, y),
        lambda: small().fit(ordered, y, X_val=reordered, y_val=y),
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            attempt()
    if hasattr(grown, "feature_names_in_"):  # before scikit-learn 1.9 not those of polars
        with pytest.raises(ValueError, match=r"the columns that the forest was fitted on.*\['a', 'b', 'c', 'd'\]"):
            small(source=grown).fit(reordered, y)


def test_sparse_rows_are_refused_by_a_forest_that_takes_none():
    X, y = regression()
    with pytest.raises(TypeError, match="Sparse data was passed"):
        small(source=HistGradientBoostingRegressor(max_iter=3), training="joint").fit(scipy.sparse.csr_array(X), y)


# Weights.


@BOTH
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (lambda n: np.zeros(n), "at least one non-zero|positive and finite sum"),
        (lambda n: np.where(np.arange(n) == 2, -1.0, 1.0), "[Nn]egative"),
        (lambda n: np.where(np.arange(n) == 2, np.nan, 1.0), "NaN"),
        (lambda n: np.where(np.arange(n) == 2, np.inf, 1.0), "infinity"),
        (lambda n: np.full(n, 1e308), "finite sum"),
        (lambda n: np.ones(n - 1), "sample_weight.shape"),
        (lambda n: np.ones((n, 2)), "1D array or scalar"),
    ],
)
def test_weights_that_mean_nothing_are_refused(classifier, weight, words):
    X, y = problem(classifier)
    model = small(classifier).fit(X, y)
    for attempt in (
        lambda: small(classifier).fit(X, y, sample_weight=weight(len(X))),
        lambda: small(classifier).fit(X, y, X_val=X, y_val=y, sample_weight_val=weight(len(X))),
        lambda: model.partial_fit(X, y, sample_weight=weight(len(X))),
    ):
        with pytest.raises(ValueError, match=words):
            attempt()


def test_class_weights_that_leave_nothing_are_refused():
    X, y = classification()
    with pytest.raises(ValueError, match="positive and finite sum"):
        small(classifier=True, class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)


# Validation rows.


@BOTH
def test_validation_rows_need_both_of_their_halves(classifier):
    X, y = problem(classifier)
    with pytest.raises(ValueError, match="need X_val and y_val, got no X_val"):
        small(classifier).fit(X, y, y_val=y)
    with pytest.raises(ValueError, match="need X_val and y_val, got no y_val"):
        small(classifier).fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="need X_val and y_val, got no X_val"):
        small(classifier).fit(X, y, sample_weight_val=np.ones(len(X)))


def test_out_of_bag_rows_are_asked_for_only_where_they_exist():
    X, y = regression()
    for model in (
        small(training="joint", validation="oob"),
        small(source=forest(bootstrap=False), validation="oob"),
        small(source=boosted(), training="joint", validation="oob"),
    ):
        with pytest.raises(ValueError, match=r"'oob' needs training='independent'.*use validation='cv'"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="120 rows for a forest that was fitted on 60"):
        small(source=forest().fit(X[:60], y[:60]), validation="oob").fit(X, y)


# Forests.


@BOTH
def test_what_is_no_forest_is_refused(classifier):
    X, y = problem(classifier)
    right, wrong = (RandomForestClassifier, RandomForestRegressor)[:: 1 if classifier else -1]
    other = SVC() if classifier else LinearRegression()
    for bad, words in (
        ("rf", "str cannot be read: there is no reader for this class"),
        (right, f"forest must be an instance, got the class {right.__name__}"),
        (wrong(), "forest must be a (regressor|classifier).*use the other"),
        (other, "cannot be read: there is no reader for this class. Supported"),
    ):
        with pytest.raises(ValueError, match=words):
            small(classifier, source=bad).fit(X, y)


def test_a_fitted_forest_must_fit_to_the_rows():
    X, y = regression()
    grown = forest().fit(X, y)
    with pytest.raises(ValueError, match="the 4 features that the forest was fitted on, got 3"):
        small(source=grown).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="the 1 outputs that the forest was fitted on, got 2"):
        small(source=grown).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="the 1 outputs"):
        small().fit(X, y).partial_fit(X, np.column_stack([y, y]))


@BOTH
def test_boosted_trees_are_trained_jointly_only(classifier):
    X, y = problem(classifier)
    with pytest.raises(ValueError, match="training must be 'joint' for trees that are summed"):
        small(classifier, source=boosted(classifier), training="independent").fit(X, y)


def test_weights_need_a_forest_that_takes_them():
    class Weightless(RandomForestRegressor):
        def fit(self, X, y):
            return super().fit(X, y)

    X, y = regression()
    with pytest.raises(ValueError, match="need a forest that takes weights, and Weightless does not"):
        small(source=Weightless()).fit(X, y, sample_weight=1 + np.arange(len(X)))
    small(source=Weightless(2)).fit(X, y)
    small(source=Weightless(2)).fit(X, y, sample_weight=np.full(len(X), 3))


# States.


@BOTH
def test_an_estimator_that_is_not_fitted_is_refused(classifier):
    X, _ = problem(classifier)
    model = small_boosted(classifier)
    methods = ["predict", "apply"] + (["predict_proba", "decision_function"] if classifier else ["predict_quantiles"])
    for method in methods:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(model, method)(X)
    assert not hasattr(model, "feature_importances_")


@BOTH
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(classifier):
    X, y = problem(classifier)
    model = small(classifier).fit(X, y)
    before, attributes = output(model, X).tobytes(), set(vars(model))
    for attempt in (
        lambda: model.fit(X[:, :2], y, sample_weight=-np.ones(len(X))),
        lambda: model.set_params(max_epochs=-1).fit(X, y),
        lambda: model.fit(X[:1], y[:1]),
    ):
        with pytest.raises(ValueError):
            attempt()
        model.set_params(max_epochs=3)
        assert output(model, X).tobytes() == before
        assert set(vars(model)) == attributes
    fresh = small(classifier)
    with pytest.raises(ValueError):
        fresh.fit(X[:1], y[:1])
    assert not hasattr(fresh, "n_features_in_")


def test_quantiles_outside_of_0_to_1_are_refused():
    X, y = regression()
    model = small().fit(X, y)
    for bad in (0, 1, 1.5, [0.5, np.nan], "half", [[0.1, 0.9]], []):
        with pytest.raises(ValueError, match="quantiles must be numbers between 0 and 1"):
            model.predict_quantiles(X, bad)


def test_every_refusal_of_ours_is_an_error_of_this_package():
    X, y = regression()
    with pytest.raises(NeuralForestError):
        nf.NeuralForestRegressor(max_epochs=-1).fit(X, y)
