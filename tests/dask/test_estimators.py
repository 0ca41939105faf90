"""The interface: parameters, collections, lazy predictions, the local estimator, and what is refused."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from dask_models import assert_same_bits, blocks, make_rows
from neuralforest.dask import DaskNeuralForestClassifier, DaskNeuralForestRegressor
from neuralforest.dask._cluster import ClusterError

pytestmark = pytest.mark.usefixtures("one_thread")
FOREST = RandomForestRegressor(3, max_leaf_nodes=12)
SETTINGS = {"random_state": 0, "max_epochs": 3, "max_rows_per_tree": 300}


@pytest.mark.parametrize(
    ("local", "other"),
    [
        (nf.NeuralForestRegressor, DaskNeuralForestRegressor),
        (nf.NeuralForestClassifier, DaskNeuralForestClassifier),
    ],
)
def test_the_constructor_is_that_of_the_local_estimator_with_two_parameters_more(local, other):
    own = other().get_params(deep=False)
    assert own.pop("client") is None
    assert own.pop("max_rows_per_tree") == 200_000
    assert own == local().get_params(deep=False) | {"stacking": None}
    assert "max_rows_per_tree : int" in other.__doc__


def table(n=900):
    X, y = make_rows(n, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.array(["u", "v", "w", "only here"])[np.minimum(np.arange(n) % 3 + (np.arange(n) > n - 20), 3)]
    return frame, pd.Series(y + (frame["kind"] == "u"), name="y")


def test_a_data_frame_with_categories_that_differ_between_partitions(threads, tmp_path):
    X, y = table()
    parts, target = dd.from_pandas(X, npartitions=4), dd.from_pandas(y, npartitions=4)
    model = DaskNeuralForestRegressor(**SETTINGS).fit(parts, target)
    local = model.to_local()
    assert local._encoder.columns[3].categories.tolist() == ["only here", "u", "v", "w"]
    predicted = model.predict(parts)
    assert isinstance(predicted, dd.Series)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    assert predicted.compute().index.equals(X.index)
    assert np.mean((local.predict(X) - y) ** 2) < 0.7 * y.var()
    nf.save(local, tmp_path / "model.nforest")
    np.testing.assert_array_equal(nf.load(tmp_path / "model.nforest").predict(X), local.predict(X))
    assert local.predict_quantiles(X.head(3)).shape == (3, 2)
    assert model.feature_importances_.shape == (4,)
    assert clone(model).get_params()["max_rows_per_tree"] == 300


def test_a_client_is_kept_by_clones_and_not_stored(threads):
    X, y = make_rows(200)
    model = clone(DaskNeuralForestRegressor(FOREST, client=threads, **SETTINGS))
    assert model.client is threads
    model.fit(blocks(X), blocks(y))
    stored = pickle.loads(pickle.dumps(model))
    assert stored.client is None
    np.testing.assert_array_equal(stored.predict(blocks(X)), model.predict(blocks(X)))
    with pytest.raises(TypeError, match="positional"):
        DaskNeuralForestRegressor(FOREST, threads)


def test_columns_of_parquet_files_keep_their_partitions(threads, tmp_path):
    X, y = make_rows(600)
    for number, rows in enumerate(np.split(np.arange(600), 6)):
        frame = pd.DataFrame(X[rows]).rename(columns=str).assign(y=y[rows])
        frame.to_parquet(tmp_path / f"{number}.parquet")
    table = dd.read_parquet(str(tmp_path))
    model = DaskNeuralForestRegressor(forest=FOREST, **SETTINGS).fit(table.drop(columns="y"), table["y"])
    expected = DaskNeuralForestRegressor(forest=FOREST, **SETTINGS).fit(blocks(X, 6), blocks(y, 6))
    assert_same_bits(model.to_local(), expected.to_local())


def test_statistics_of_partitions_are_those_of_all_rows(threads):
    X, y = table()
    parts, target = dd.from_pandas(X, npartitions=5), dd.from_pandas(y, npartitions=5)
    settings = SETTINGS | {"max_rows_per_tree": None, "connectivity": "sparse"}
    soft = DaskNeuralForestRegressor(**settings).fit(parts, target).network_.soft
    one = nf.NeuralForestRegressor(random_state=0, max_epochs=0, stacking=None, connectivity="sparse").fit(X, y)
    for name in ("center", "scale", "low", "high", "spread", "output_center", "output_scale"):
        np.testing.assert_allclose(getattr(soft, name), getattr(one.network_.soft, name), rtol=1e-6, err_msg=name)


def test_a_classifier_with_a_rare_class_and_empty_partitions(threads):
    X, y = make_rows(1000)
    labels = np.where(np.arange(1000) == 940, "rare", np.where(y > 0, "high", "low"))
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str).assign(y=labels), npartitions=4)
    frame = dd.concat([frame, frame[frame["0"] > 1e9]])
    forest = RandomForestClassifier(12, max_leaf_nodes=16)
    model = DaskNeuralForestClassifier(forest=forest, **SETTINGS).fit(frame.drop(columns="y"), frame["y"])
    assert model.classes_.tolist() == ["high", "low", "rare"]
    probabilities = model.predict_proba(frame.drop(columns="y"))
    assert probabilities.columns.tolist() == ["high", "low", "rare"]
    np.testing.assert_allclose(probabilities.sum(axis=1).compute(), 1.0)
    assert model.score(frame.drop(columns="y"), frame["y"]) > 0.7


def test_blocks_of_y_and_of_columns_may_differ_from_those_of_X(threads):
    X, y = make_rows(900)
    model = DaskNeuralForestRegressor(forest=FOREST, **SETTINGS)
    plain = model.fit(blocks(X, 3), blocks(y, 3)).to_local()
    assert_same_bits(model.fit(da.from_array(X, chunks=(300, 2)), blocks(y, 7)).to_local(), plain)
    np.testing.assert_array_equal(model.predict(da.from_array(X, chunks=(500, 3))), plain.predict(X))
    weighted = model.fit(blocks(X, 3), blocks(y, 3), blocks(np.ones(900), 3)).to_local()
    assert weighted.network_.ensemble.n_trees == 3
    several = model.fit(blocks(X, 3), blocks(np.column_stack([y, y]), 3))
    assert several.predict(blocks(X, 3)).compute().shape == (900, 2)
    assert model.score(blocks(X, 3), blocks(np.column_stack([y, y]), 3)) > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"training": "joint"}, "training must be 'auto' or 'independent' on a cluster"),
        ({"stacking": "auto"}, "stacking must be None on a cluster"),
        ({"validation": "fraction"}, "validation must be 'auto' or 'oob' on a cluster"),
        ({"tune": "leaves"}, "tune must be 'all' on a cluster"),
        ({"warm_start": True}, "warm_start must be False on a cluster"),
        ({"callback": print}, "callback must be None on a cluster"),
        ({"max_rows_per_tree": 3}, "max_rows_per_tree must be a whole number of at least 10"),
        ({"forest": GradientBoostingRegressor()}, "forest must be a RandomForest"),
        ({"forest": RandomForestRegressor(bootstrap=False)}, "forest must leave rows out"),
        ({"forest": RandomForestRegressor(2).fit([[0.0], [1.0]], [0.0, 1.0])}, "forest must not be fitted"),
        ({"contrast": -1}, "contrast must be a pair"),
    ],
)
def test_what_a_cluster_does_not_do_is_refused(parameters, message):
    X, y = make_rows(50)
    with pytest.raises(ValueError, match=message):
        DaskNeuralForestRegressor(**parameters).fit(blocks(X), blocks(y))


def test_wrong_collections_are_refused(threads):
    X, y = make_rows(100)
    model = DaskNeuralForestRegressor()
    with pytest.raises(TypeError, match="X must be a dask array or a dask data frame, got ndarray"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X must have two dimensions"):
        model.fit(blocks(y), blocks(y))
    with pytest.raises(ValueError, match="y must have as many rows as X, 100, got 90"):
        model.fit(blocks(X), blocks(y[:90]))
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str), npartitions=2)
    with pytest.raises(ValueError, match="y must have the partitions of X, 2, got 3"):
        model.fit(frame, dd.from_pandas(pd.Series(y), npartitions=3))
    many = pd.DataFrame({"name": [f"n{i}" for i in range(100)]})
    with pytest.raises(ValueError, match="at most 64 of them, got 100 in column 'name'"):
        model.fit(dd.from_pandas(many, npartitions=2), dd.from_pandas(pd.Series(y), npartitions=2))
    with pytest.raises(ValueError, match="positive and finite sum"):
        model.fit(blocks(X), blocks(y), blocks(np.zeros(100)))
    with pytest.raises(ValueError, match="no value beyond"):
        model.fit(blocks(X), blocks(y * 1e150))


def test_without_a_client_the_error_says_what_to_do():
    X, y = make_rows(50)
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        DaskNeuralForestRegressor(client="tcp://127.0.0.1").fit(blocks(X), blocks(y))
    assert issubclass(ClusterError, RuntimeError)
