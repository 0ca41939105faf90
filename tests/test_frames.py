"""Tables as numbers: which columns hold categories, and their codes. Of pandas, polars and arrays alike."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import TargetEncoder

from neuralforest._frames import MOST_CATEGORIES, TableEncoder, codes_of
from neuralforest.exceptions import InvalidParameterError, TableWarning

nan = np.nan


def learn(table, categorical_features="from_dtype"):
    return TableEncoder.learn(table, categorical_features)


def series(values, dtype):
    return pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


COLUMNS = {
    "pandas objects": lambda: series(["b", None, "a", "b"], object),
    "pandas strings": lambda: series(["b", None, "a", "b"], "string"),
    "pandas str": lambda: series(["b", None, "a", "b"], "str"),
    "pandas categories": lambda: series(["b", None, "a", "b"], "category"),
    "pandas categories with one that no row has": lambda: series(
        ["b", None, "a", "b"], pd.CategoricalDtype(["z", "b", "a"])
    ),
    "pandas objects with NaN": lambda: series(["b", nan, "a", "b"], object),
    "pandas objects with NA": lambda: series(["b", pd.NA, "a", "b"], object),
    "polars strings": lambda: pl.DataFrame({"c": ["b", None, "a", "b"]}),
    "polars categories": lambda: pl.DataFrame({"c": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical)}),
    "polars enum": lambda: pl.DataFrame({"c": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["a", "b", "date"]))}),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_strings_and_categories_are_codes_in_alphabetical_order(kind):
    table = COLUMNS[kind]()
    encoder = learn(table)
    assert encoder.columns[0].name == "c"
    assert encoder.columns[0].categories.tolist() == ["a", "b"]
    assert encoder.n_categories.tolist() == [2]
    np.testing.assert_array_equal(encoder.encode(table), [[1], [nan], [0], [1]])
    for other in COLUMNS.values():  # of another library, too
        np.testing.assert_array_equal(encoder.encode(other()), [[1], [nan], [0], [1]])
    new = pd.DataFrame({"c": ["", "aa", "z", None]})
    np.testing.assert_array_equal(encoder.encode(new), [[-1], [-1], [-1], [nan]])


NUMBERS = {
    "numpy": lambda: pd.Series([1, nan, 0, 1]),
    "nullable integers": lambda: pd.Series([1, None, 0, 1], dtype="Int64"),
    "nullable floats": lambda: pd.Series([1, None, 0, 1], dtype="Float64"),
    "nullable booleans": lambda: pd.Series([True, None, False, True], dtype="boolean"),
    "objects": lambda: pd.Series([True, None, 0, 1.0], dtype=object),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_and_booleans_of_any_dtype_stay_numbers(kind):
    table = pd.DataFrame({"x": NUMBERS[kind](), "c": ["a", "b", "b", "a"]})
    encoder = learn(table)
    assert encoder.n_categories.tolist() == [0, 2]
    np.testing.assert_array_equal(encoder.encode(table), [[1, 0], [nan, 1], [0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Float32, pl.Boolean, pl.UInt64, pl.Decimal(5, 2)], ids=str)
def test_numbers_of_polars_stay_numbers(dtype):
    table = pl.DataFrame({"x": pl.Series([1, None, 0, 1]).cast(dtype), "c": ["a", "b", "b", "a"]})
    np.testing.assert_array_equal(learn(table).encode(table), [[1, 0], [nan, 1], [0, 1], [1, 0]])
    with_nan = pl.DataFrame({"x": [1.0, nan, None], "c": ["a", "b", None]})
    np.testing.assert_array_equal(learn(with_nan).encode(with_nan), [[1, 0], [nan, 1], [nan, nan]])


def test_a_table_of_numbers_needs_no_encoder():
    assert learn(pd.DataFrame({"x": [1.0, 2.0], "y": [True, False]})) is None
    assert learn(pl.DataFrame({"x": [1.0, 2.0]})) is None
    assert learn(pd.DataFrame({"x": ["1", "2"]}), None) is None
    assert learn(np.array([["a"], ["b"]], object)) is None
    assert learn([[1.0], [2.0]], None) is None


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["b", "d"], [0, 2, 0, 3]),
        ([1, 3], [0, 2, 0, 3]),
        ([-3, -1], [0, 2, 0, 3]),
        (np.array([1, 3]), [0, 2, 0, 3]),
        ([False, True, False, True], [0, 2, 0, 3]),
        (np.array([False, True, False, True]), [0, 2, 0, 3]),
        ([3], [0, 0, 0, 3]),
    ],
    ids=str,
)
def test_categories_are_chosen_by_name_by_number_or_by_a_mask(chosen, expected):
    X = np.array([[0.5, 7, 1, 10], [1.5, 7, 2, 2], [2.5, 9, 3, 30.5]])
    frame = pd.DataFrame(X, columns=list("abcd"))
    for table in (frame, pl.DataFrame({name: frame[name].to_numpy() for name in frame})):
        encoder = learn(table, chosen)
        assert encoder.n_categories.tolist() == expected
        assert encoder.columns[3].categories.tolist() == ["10", "2", "30.5"]
        np.testing.assert_array_equal(encoder.encode(table)[:, [0, 2, 3]], [[0.5, 1, 0], [1.5, 2, 1], [2.5, 3, 2]])
    if not any(isinstance(each, str) for each in np.asarray(chosen).tolist()):
        for table in (X, X.tolist(), X.astype(object)):
            assert learn(table, chosen).n_categories.tolist() == expected


@pytest.mark.parametrize("chosen", [["z"], [4], [-5], [True, False], [1.5], [None], [["a"]]], ids=str)
def test_other_choices_are_refused(chosen):
    frame = pd.DataFrame(np.zeros((3, 4)), columns=list("abcd"))
    with pytest.raises(InvalidParameterError, match=r"categorical_features must name columns of X, .*'a', 'b'"):
        learn(frame, chosen)


def test_sparse_matrices_have_no_categories():
    with pytest.raises(InvalidParameterError, match="needs a table or a dense array, got a sparse matrix"):
        learn(scipy.sparse.csr_array(np.eye(3)), [0])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(st.none(), st.text(st.characters(exclude_characters="\0"), max_size=4)), min_size=1, max_size=12
    ),
    st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "nan", "None", "1", "1.0"])), min_size=1, max_size=9),
)
def test_codes_are_positions_among_the_sorted_categories(values, new):
    table = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    categories = sorted({value for value in values if value is not None})
    encoder = learn(table)
    assert encoder.columns[0].categories.tolist() == categories
    for column in (values, new):
        codes = [nan if v is None else categories.index(v) if v in categories else -1 for v in column]
        found = encoder.encode(pd.DataFrame({"c": pd.Series(column, dtype=object)}))
        np.testing.assert_array_equal(found[:, 0], codes)


def test_whole_numbers_are_the_same_category_in_every_dtype():
    encoder = learn(pd.DataFrame({"c": [3.0, 1.0, nan]}), ["c"])
    for column in (
        [1, 3],
        [1.0, 3.0],
        ["1", "3"],
        pd.Series([1, 3], dtype="Int64"),
        pd.Series([1, 3], dtype="category"),
    ):
        assert encoder.encode(pd.DataFrame({"c": column}))[:, 0].tolist() == [0, 1]
    assert encoder.encode(pl.DataFrame({"c": [1, 3]}))[:, 0].tolist() == [0, 1]


def test_no_categories_at_all_are_only_others():
    assert codes_of(np.array(["a", "b"]), np.array([False, True]), np.array([], np.str_)).tolist()[0] == -1
    table = pd.DataFrame({"c": pd.Series([None, None], dtype=object), "d": ["a", "b"]})
    encoder = learn(table)
    assert encoder.n_categories.tolist() == [0, 2]
    assert np.isnan(encoder.encode(table)[:, 0]).all()


# --- what is refused -------------------------------------------------------------------------------------------------

TIMES = {
    "datetime of pandas": lambda: pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 2), "c": ["a", "b"]}),
    "timedelta of pandas": lambda: pd.DataFrame({"when": pd.to_timedelta([1, 2], "D"), "c": ["a", "b"]}),
    "period of pandas": lambda: pd.DataFrame({"when": pd.period_range("2020", periods=2, freq="M"), "c": ["a", "b"]}),
    "date of polars": lambda: pl.DataFrame({"when": pl.Series([1, 2]).cast(pl.Date), "c": ["a", "b"]}),
    "datetime of polars": lambda: pl.DataFrame({"when": pl.Series([1, 2]).cast(pl.Datetime), "c": ["a", "b"]}),
    "time of polars": lambda: pl.DataFrame({"when": pl.Series([1, 2]).cast(pl.Time), "c": ["a", "b"]}),
    "duration of polars": lambda: pl.DataFrame({"when": pl.Series([1, 2]).cast(pl.Duration), "c": ["a", "b"]}),
}


@pytest.mark.parametrize("kind", TIMES)
def test_a_column_of_times_is_refused_by_name(kind):
    with pytest.raises(ValueError, match=r"column 'when' must hold numbers or categories, got .* or drop it"):
        learn(TIMES[kind]())
    encoder = learn(pd.DataFrame({"when": [1.0, 2.0], "c": ["a", "b"]}))
    with pytest.raises(ValueError, match="column 'when' must hold numbers or categories"):
        encoder.encode(TIMES[kind]())
    with pytest.raises(ValueError, match="column 'when' must hold numbers or categories"):
        learn(TIMES[kind](), ["c"]).encode(TIMES[kind]())


OBJECTS = {
    "lists": (lambda: pd.DataFrame({"x": [[1], [2, 3]]}), r"got \[1\] of type list"),
    "bytes": (lambda: pd.DataFrame({"x": [b"a", None]}), "got b'a' of type bytes"),
    "dictionaries behind numbers": (lambda: pd.DataFrame({"x": [1.0, {}]}), "got {} of type dict"),
    "lists of polars": (lambda: pl.DataFrame({"x": [[1], [2]]}), r"got list\(int64\)"),
    "structs of polars": (lambda: pl.DataFrame({"x": [{"a": 1}] * 2}), "got struct"),
    "binary of polars": (lambda: pl.DataFrame({"x": [b"a", b"b"]}), "got binary"),
    "objects of polars": (lambda: pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}), "got .* of type object"),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_values_that_are_neither_numbers_nor_categories_are_refused_by_name(kind):
    table, found = OBJECTS[kind]
    with pytest.raises(InvalidParameterError, match=f"column 'x' must hold numbers or categories, {found}.*or drop it"):
        learn(table())


def test_dtypes_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    columns = {
        "s": pa.array(["b", None, "a"]),
        "l": pa.array(["b", None, "a"], pa.large_string()),
        "d": pa.array(["b", None, "a"]).dictionary_encode(),
        "x": pa.array([1, None, 3]),
        "t": pa.array([True, None, False]),
    }
    table = pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)
    encoder = learn(table)
    assert encoder.n_categories.tolist() == [2, 2, 2, 0, 0]
    np.testing.assert_array_equal(encoder.encode(table), [[1, 1, 1, 1, 1], [nan] * 5, [0, 0, 0, 3, 0]])


def test_strings_must_be_among_the_columns_that_are_named():
    table = pd.DataFrame({"c": ["a", "b"], "d": ["u", "v"], "n": ["1", "2.5"], "k": pd.Categorical([3, 4])})
    for chosen in (["c"], [False, False, True, True], [], None):
        with pytest.raises(InvalidParameterError, match=r"must name all columns of categories, and '[cd]' of dtype"):
            learn(table, chosen)
    encoder = learn(table, ["c", "d"])
    np.testing.assert_array_equal(encoder.encode(table), [[0, 0, 1, 3], [1, 1, 2.5, 4]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_strings_among_many_numbers_are_reported(frame):
    numbers = [f"{n}.5" for n in range(30)]
    with pytest.warns(TableWarning, match="column 'x' is taken for categories, .* such as 'n/k' among its 30"):
        learn(frame({"x": [*numbers, "n/k", None]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(frame({"x": numbers}))  # strings that a user wants to be categories
        learn(frame({"x": [*numbers[:20], "n/k"]}))
        learn(frame({"x": [*numbers, *(f"B{n}" for n in range(30))]}))
        learn(frame({"x": [*numbers, "n/k"]}), ["x"])
        learn(pd.DataFrame({"x": pd.Categorical([*numbers, "n/k"])}))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_strings_in_a_column_of_numbers_are_refused_by_name(frame):
    encoder = learn(frame({"x": [1.0, 2.0], "c": ["a", "b"]}))
    with pytest.raises(ValueError, match="column 'x' must hold numbers, as in fit, got values of dtype"):
        encoder.encode(frame({"x": ["one", "two"], "c": ["a", "b"]}))


def test_another_number_of_columns_is_refused():
    encoder = learn(pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]}))
    with pytest.raises(InvalidParameterError, match="X must have the 2 columns of fit, got 3"):
        encoder.encode(np.zeros((2, 3)))


# --- means of the target ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_categories", [MOST_CATEGORIES, MOST_CATEGORIES + 1])
def test_many_categories_are_replaced_by_cross_fitted_means(n_categories):
    rng = np.random.default_rng(0)
    code = np.arange(8 * n_categories) % n_categories
    y = code % 5 + 0.1 * rng.normal(size=len(code))
    table = pd.DataFrame({"x": y * 0, "c": [f"c{i:03}" for i in code]})
    plain = learn(table)
    encoder, X = plain.with_means(plain.encode(table), y)
    if n_categories == MOST_CATEGORIES:
        assert encoder.n_categories.tolist() == [0, n_categories]
        np.testing.assert_array_equal(X, plain.encode(table))
        return
    assert encoder.n_categories.tolist() == [0, 0]
    means = TargetEncoder(target_type="continuous").fit(code[:, None], y).transform(np.arange(n_categories)[:, None])
    np.testing.assert_allclose(encoder.columns[1].means[:-1], means[:, 0])
    np.testing.assert_allclose(encoder.columns[1].means[-1], y.mean())
    np.testing.assert_allclose(encoder.encode(table)[:, 1], means[code, 0])
    assert np.corrcoef(X[:, 1], y)[0, 1] > 0.95
    assert (X[:, 1] != means[code, 0]).mean() > 0.9  # no row's own target is in its mean
    noise = rng.normal(size=len(y))
    assert abs(np.corrcoef(plain.with_means(plain.encode(table), noise)[1][:, 1], noise)[0, 1]) < 0.2
    new = pd.DataFrame({"x": [0.0, 0.0], "c": ["new", None]})
    np.testing.assert_allclose(encoder.encode(new)[:, 1], y.mean())
    again = plain.with_means(plain.encode(table), y)[1]
    np.testing.assert_array_equal(X, again)


def test_missing_ones_of_many_categories_have_a_mean_of_their_own():
    code = np.arange(10 * 70) % 70
    y = np.where(code == 3, 50.0, code % 5)
    table = pd.DataFrame({"c": pd.Series([None if i == 3 else f"c{i}" for i in code], dtype=object)})
    plain = learn(table)
    encoder, X = plain.with_means(plain.encode(table), y)
    assert np.isfinite(X).all()
    assert encoder.encode(pd.DataFrame({"c": [None]}))[0, 0] > 40
