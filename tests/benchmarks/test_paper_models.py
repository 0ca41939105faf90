"""The paper's models on small data, and the runs of its figures. Needs no data folder."""

import numpy as np
import pytest

import neuralforest as nf
from benchmarks.paper import figure_runs, figures, models
from benchmarks.paper.plan import AUTHORS, SLOPE, TEXT, Run


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 4))
    return models.split(X, 10 * np.sin(5 * X[:, 0]) + X[:, 1], repetition=0)


def test_both_forests_have_their_settings(parts):
    authors, text = (models.grow(parts.train, variant, seed=0) for variant in (AUTHORS, TEXT))
    assert (authors.bootstrap, authors.max_features, authors.max_depth, len(authors.estimators_)) == (False, 1.0, 6, 30)
    assert (text.bootstrap, len(text.estimators_)) == (False, 30)
    drawn = round(0.632 * len(parts.train.y))
    assert all(len(set(rows)) == len(rows) == drawn for rows in text.estimators_samples_)
    assert {tree.get_n_leaves() for tree in text.estimators_} == {drawn // 2}
    assert text.estimators_[0].max_features == pytest.approx(1 / 3)


@pytest.mark.parametrize(("variant", "fold_contrast"), [(AUTHORS, True), (SLOPE, False), (TEXT, False)])
def test_the_contrast_is_in_the_weights_only_where_the_authors_put_it(variant, fold_contrast):
    model = models.neural_forest(Run("toy", "NRF2 sparse", variant, 4), forest=None)
    assert (model.fold_contrast, model.training, model.connectivity) == (fold_contrast, "joint", "sparse")
    assert (model.contrast, model.learning_rate, model.max_epochs) == ((100.0, 1.0), 0.001, 100)
    assert (model.standardize, model.random_state) == (False, 4)


@pytest.mark.parametrize("model", ["NRF1 full", "NRF2 full", "NRF1 sparse", "NRF2 sparse"])
def test_a_neural_forest_is_no_worse_than_its_forest_on_validation_rows(parts, model):
    forest = models.grow(parts.train, AUTHORS, seed=0)
    before = models.score(Run("toy", "RF", AUTHORS, 0), parts)
    after = models.score(Run("toy", model, AUTHORS, 0), parts, forest, epochs=2)
    assert after.validation_rmse <= before.validation_rmse * (1 + 1e-6)
    assert after.parameters > 0
    assert "neuralforest" in after.versions


def test_a_network_has_the_layers_of_the_joint_neural_forest(parts):
    networks = pytest.importorskip("benchmarks.paper.networks")
    ensemble = nf.convert(models.grow(parts.train, AUTHORS, seed=0)).ensemble
    joint = nf.convert(models.grow(parts.train, AUTHORS, seed=0)).soften(training="joint").layers()
    sizes = [networks.layer_sizes(4, ensemble.n_splits, ensemble.n_leaves, n_hidden) for n_hidden in (1, 2, 3)]
    splits, leaves = len(joint.b1), len(joint.b2)
    assert sizes == [(4, splits, 1), (4, splits, leaves, 1), (4, splits, leaves, leaves, 1)]


def test_training_restores_subnormal_arithmetic(parts):
    networks = pytest.importorskip("benchmarks.paper.networks")
    with networks.subnormals_as_zero():
        assert np.float64(1e-300) * np.float64(1e-15) == 0
    networks.train_network((4, 3, 1), parts.train, parts.validation, epochs=1)
    assert np.float64(1e-300) * np.float64(1e-15) > 0


def test_a_network_of_two_layers_has_as_many_parameters_as_nrf2_full(parts):
    pytest.importorskip("torch")
    forest = models.grow(parts.train, AUTHORS, seed=0)
    network = models.score(Run("toy", "NN2", "", 0), parts, forest, epochs=1)
    neural = models.score(Run("toy", "NRF2 full", AUTHORS, 0), parts, forest, epochs=1)
    assert network.parameters == neural.parameters


def test_networks_start_from_standard_gaussian_weights_and_keep_their_best_epoch(parts):
    networks = pytest.importorskip("benchmarks.paper.networks")
    torch = pytest.importorskip("torch")
    start = networks.gaussian_network((40, 60, 1), torch.Generator().manual_seed(0))
    weights = torch.cat([parameter.flatten() for parameter in start.parameters()]).detach().numpy()
    assert abs(weights.mean()) < 0.1
    assert weights.std() == pytest.approx(1, abs=0.1)
    best, history = networks.train_network((4, 20, 1), parts.train, parts.validation, epochs=5)
    assert networks.rmse(best, parts.validation) == pytest.approx(history.validation[1:].min())
    assert (len(history.training), len(history.validation)) == (5, 6)


def test_bart_predicts(parts):
    pytest.importorskip("stochtree")
    result = models.score(Run("toy", "BART", "", 0), parts)
    assert result.test_rmse < parts.test.y.std()
    assert result.versions.startswith("stochtree ")


# Figures.


def test_points_of_a_figure_are_computed_once(tmp_path, monkeypatch):
    path, made = tmp_path / "growth.csv", []
    monkeypatch.setitem(figure_runs.SIZES, "asymptotic", (100, 200))
    monkeypatch.setattr(figure_runs, "asymptotic_error", lambda point, jobs: made.append(point) or 0.5)
    assert len(list(figure_runs.compute_points("asymptotic", path))) == 2 * 3 * 3
    assert list(figure_runs.compute_points("asymptotic", path)) == []
    assert made == figure_runs.points("asymptotic")
    assert figure_runs.read_points(path) == dict.fromkeys(made, 0.5)


def test_curves_are_computed_once(tmp_path, monkeypatch):
    path, curves = (
        tmp_path / "evolution.csv",
        {"NN2, training": np.array([2.0]), "NN2, validation": np.array([3.0, 2.5])},
    )
    forest = {"RF, validation": np.array([4.0]), "NRF2 full, validation": np.array([4.5, 3.5])}
    monkeypatch.setattr(figure_runs, "load_parts", lambda *_: None)
    monkeypatch.setattr(figure_runs, "load_forest", lambda *_: None)
    monkeypatch.setattr(figure_runs, "network_curves", lambda *_: curves)
    monkeypatch.setattr(figure_runs, "neural_forest_curves", lambda *_: forest)
    assert len(list(figure_runs.compute_curves(path))) == 2
    assert list(figure_runs.compute_curves(path)) == []
    read = figure_runs.read_curves(path)
    assert {name: list(values) for name, values in read.items()} == {k: list(v) for k, v in (forest | curves).items()}


def test_figures_have_their_command_in_the_metadata(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("torch")
    points = {point: 1.0 / point.n for figure in figure_runs.SIZES for point in figure_runs.points(figure)}
    names = [f"{model}, {part}" for model in ("NRF2 full", "NN2") for part in ("training", "validation")]
    curves = {name: np.linspace(3, 2, 4) for name in names}
    monkeypatch.setattr(figures, "read_points", lambda: points)
    monkeypatch.setattr(figures, "read_curves", lambda: curves | {"RF, validation": np.array([2.5])})
    for figure in figures.FIGURES:
        png, svg = figures.save(figure, tmp_path)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert f"python -m benchmarks.paper.figures --figures {figure}; neuralforest" in svg.read_text(encoding="utf-8")
