"""nf.PAPER_SETTINGS is exactly the paper's experiment."""

import pytest
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.selection import guard
from small_models import regression


def test_the_papers_experiment_is_run_exactly(monkeypatch):
    used = {}
    original = guard.train

    def spy(network, data, settings, loss, **options):
        used.update(network=network, data=data, settings=settings, loss=loss)
        return original(network, data, settings, loss, **options)

    monkeypatch.setattr(guard, "train", spy)
    X, y = regression(90)
    stop = {"callback": lambda epoch, history: True, "connectivity": "sparse", "random_state": 0}
    model = nf.NeuralForestRegressor(**nf.PAPER_SETTINGS, **stop).fit(X * 50, y * 7)
    forest, settings, soft = model.forest_, used["settings"], used["network"].soft
    assert type(forest) is RandomForestRegressor
    assert (forest.n_estimators, forest.max_depth, forest.bootstrap) == (30, 6, False)
    assert (forest.max_features, forest.max_leaf_nodes) == (1.0, None)
    assert (settings.learning_rate, settings.batch_size, settings.max_epochs) == (0.001, 32, 100)
    assert (settings.betas, settings.epsilon, settings.schedule) == ((0.9, 0.999), 1e-8, "constant")
    assert (settings.weight_decay, settings.weight_bound, settings.n_iter_no_change) == (0, None, None)
    assert soft.contrast == (100.0, 1.0)
    for center, scale in ((soft.center, soft.scale), (soft.output_center, soft.output_scale)):
        assert (center == 0).all()
        assert (scale == 1).all()
    assert used["loss"].name == "squared_error"
    assert (len(used["data"].fit.of(0)[0]), len(used["data"].validation.of(0)[0])) == (60, 30)  # 50% and 25% of 120


def test_the_papers_settings_cannot_be_changed():
    model = nf.NeuralForestRegressor(**nf.PAPER_SETTINGS).set_params(forest__max_depth=2)
    assert model.forest.max_depth == 2
    assert nf.NeuralForestRegressor(**nf.PAPER_SETTINGS).forest.max_depth == 6
    with pytest.raises(TypeError):
        nf.PAPER_SETTINGS["max_epochs"] = 1


def test_the_papers_settings_can_be_looked_at_and_changed_in_a_copy():
    assert "RandomForestRegressor" in repr(nf.PAPER_SETTINGS)
    shorter = dict(nf.PAPER_SETTINGS) | {"max_epochs": 2}
    X, y = regression(60)
    model = nf.NeuralForestRegressor(**shorter, connectivity="sparse", random_state=0).fit(X, y)
    assert model.history_.n_epochs == 2
    assert model.score(X, y) > 0.5
    assert set(nf.PAPER_SETTINGS) < set(nf.NeuralForestRegressor().get_params())
