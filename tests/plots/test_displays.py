import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import neuralforest as nf
import small_models
from neuralforest.exceptions import InvalidParameterError, UnsupportedModelError
from neuralforest.network import feature_importances
from neuralforest.plots import ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay
from plots import models

DISPLAYS = [ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay]


def draw(display, model, X, **options):
    rows = (X,) if display is SurfaceDisplay else ()
    return display.from_estimator(model, *rows, **options)


def texts_overlap(display):
    """Return the pairs of texts of a figure whose boxes share a point."""
    figure = display.figure_
    figure.draw_without_rendering()
    hidden = set()  # labels of ticks outside of an axis, which exist and are not drawn
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        hidden |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    texts = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip() and t not in hidden]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts]
    return [
        (a, b)
        for i, (a, one) in enumerate(boxes)
        for b, two in boxes[:i]
        if one.shrunk(0.98, 0.98).overlaps(two.shrunk(0.98, 0.98)) and one.width > 1 and two.width > 1
    ]


def check_importances(shown, model, X):
    for bars in shown.bars_:
        assert sum(bar.get_width() for bar in bars) == pytest.approx(100)


def check_units(shown, model, X):
    tree = model.forest_.estimators_[0].tree_
    assert len(shown.boxes_[1]) == tree.node_count - tree.n_leaves
    assert len(shown.boxes_[2]) == tree.n_leaves
    assert set(tree.feature[tree.feature >= 0]) <= set(shown.inputs)


def check_surface(shown, model, X):
    rows = np.tile(np.median(X.astype(np.float32), axis=0).astype(float), (shown.forest.size, 1))
    first, second = (int(name.removeprefix("feature ")) for name in shown.names)
    rows[:, first], rows[:, second] = (grid.ravel() for grid in np.meshgrid(shown.x, shown.y))
    probability = getattr(model.forest_, "predict_proba", None)
    expected = model.forest_.predict(rows) if probability is None else probability(rows)[:, -1]
    np.testing.assert_allclose(np.ravel(shown.surfaces_[0].get_array()), expected, rtol=1e-12, atol=1e-12)


def check_curves(shown, model, X):
    for name in ("training", "validation"):
        assert shown.lines_[name].get_xdata().tolist() == [0, 1, 2, 3]
        assert (shown.lines_[name].get_ydata()[1:] > 0).all()


def check_boxes(shown, model, X):
    assert len(shown.boxes_) == model.forest_.estimators_[0].tree_.node_count


CHECKS = {
    ImportanceDisplay: (check_importances, {}),
    NetworkDisplay: (check_units, {"weakest": 0.0}),
    SurfaceDisplay: (check_surface, {"grid": 20}),
    TrainingDisplay: (check_curves, {}),
    TreeDisplay: (check_boxes, {"max_depth": 20}),
}


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("training", models.TRAINING)
@pytest.mark.parametrize(("connectivity", "classifier"), [("sparse", True), ("full", False)])
def test_every_display_draws_every_kind_of_model(display, training, connectivity, classifier):
    """What is drawn agrees with scikit-learn's forest and with the number of epochs."""
    model, (X, _) = models.fitted(training, connectivity, classifier), models.rows(classifier)
    check, options = CHECKS[display]
    shown = draw(display, model, X, **options)
    shown.figure_.draw_without_rendering()
    check(shown, model, X)


@pytest.mark.parametrize("display", [ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TreeDisplay])
@pytest.mark.parametrize("classifier", [False, True])
def test_boosted_models_are_drawn(display, classifier):
    draw(display, models.boosted(classifier), small_models.regression()[0]).figure_.draw_without_rendering()


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("training", models.TRAINING)
def test_no_text_overlaps_another_even_with_long_names(display, training):
    names = {} if display is TrainingDisplay else {"feature_names": models.NAMES}
    shown = draw(display, models.fitted(training, "full"), models.rows()[0], **names)
    assert texts_overlap(shown) == []


def test_training_shows_the_history_in_units_of_the_target():
    model = models.fitted("joint")
    display = TrainingDisplay.from_estimator(model)
    history, scale = model.history_, model.network_.soft.output_scale[0]
    np.testing.assert_allclose(display.lines_["validation"].get_ydata(), scale * np.sqrt(history.validation_loss[:, 0]))
    assert display.lines_["validation"].get_xdata().tolist() == [0, 1, 2, 3]
    assert np.isnan(display.lines_["training"].get_ydata()[0])
    np.testing.assert_allclose(display.lines_["forest"].get_ydata(), scale * np.sqrt(model.forest_loss_))
    assert display.ax_.get_ylabel() == "RMSE"


def test_independent_training_shows_the_mean_over_the_trees_and_the_whole_forest():
    model = models.fitted(classifier=True)
    display = TrainingDisplay.from_estimator(model)
    np.testing.assert_allclose(display.lines_["validation"].get_ydata(), model.history_.validation_loss.mean(axis=1))
    assert display.whole == (model.forest_loss_, model.validation_loss_)
    assert {"whole forest", "whole model"} < set(display.lines_)
    assert display.ax_.get_ylabel() == "log loss"


def test_a_forest_far_above_the_curves_is_in_the_legend_only():
    shown = TrainingDisplay(
        np.array([[np.nan], [1.0]]), np.ones((2, 1)), np.array([9.0]), np.array([1]), (9.0, 1.0), ""
    )
    shown.plot()
    assert np.isnan(shown.lines_["forest"].get_ydata()).all()
    assert "above the axes" in shown.lines_["forest"].get_label()


def test_bars_are_the_importances_of_model_and_forest():
    model = models.fitted()
    display = ImportanceDisplay.from_estimator(model, feature_names=models.NAMES)
    order = display.order
    for bars, values in zip(display.bars_, (model.network_, nf.convert(model.network_.ensemble)), strict=True):
        np.testing.assert_allclose([bar.get_width() for bar in bars], 100 * feature_importances(values)[order])
    assert (np.diff(display.model[order]) <= 0).all()
    assert display.ax_.get_yticklabels()[0].get_text().startswith(models.NAMES[order[0]][:3])


def test_few_of_many_features_are_drawn_and_the_others_counted():
    display = ImportanceDisplay.from_estimator(models.fitted(), max_features=2)
    assert len(display.bars_[0]) == 2
    assert display.ax_.get_legend().get_title().get_text() == "2 features not shown"


def test_surfaces_are_the_predictions_with_the_other_features_at_their_medians():
    model, (X, _) = models.fitted(), models.rows()
    display = SurfaceDisplay.from_estimator(model, X, features=(1, 0), grid=7)
    row = np.median(X.astype(np.float32).astype(float), axis=0)
    row[1], row[0] = display.x[2], display.y[5]
    assert display.model[5, 2] == model.predict(row[None])[0]
    assert display.forest[5, 2] == pytest.approx(model.forest_.predict(row[None])[0])
    assert [mesh.get_clim() for mesh in display.surfaces_] == [display.limits] * 2
    np.testing.assert_array_equal(np.ravel(display.surfaces_[1].get_array()), display.model.ravel())


def test_surfaces_of_a_classifier_are_probabilities_of_the_given_class():
    model, (X, _) = models.fitted(classifier=True), models.rows(True)
    display = SurfaceDisplay.from_estimator(model, X, features=(0, 1), target=0, grid=3)
    row = np.median(X.astype(np.float32).astype(float), axis=0)
    row[:2] = display.x[1], display.y[1]
    assert display.model[1, 1] == model.predict_proba(row[None])[0, 0]
    assert display.label == "probability of class 0"


@pytest.mark.parametrize("connectivity", models.CONNECTIVITY)
def test_connections_are_the_weights_of_the_network(connectivity):
    """Those of features are multiplied by their spreads, so that they can be compared."""
    network = models.fitted(connectivity=connectivity).network_
    network = network.with_parameters(network.soft.parameters, np.zeros(network.n_subnetworks, bool))
    display = NetworkDisplay.from_estimator(network, tree=1, weakest=0.0)
    layers = network.layers(1)
    assert (network.soft.spread < 0.5).any() == (connectivity == "full")
    first, second, last = display.connections
    for connections, matrix, rows, columns in (
        (first, layers.W1.toarray() * network.soft.spread, display.splits, display.inputs),
        (second, layers.W2.toarray(), display.leaves, display.splits),
        (last, layers.W_out, [0], display.leaves),
    ):
        drawn = np.zeros_like(matrix)
        drawn[np.asarray(rows)[connections.target], np.asarray(columns)[connections.source]] = connections.weight
        np.testing.assert_array_equal(drawn, matrix)
    assert [len(lines) for lines in display.lines_] == [len(c.weight) for c in display.connections]


def test_negative_weights_are_dashed_and_larger_ones_thicker():
    display = NetworkDisplay.from_estimator(models.figure_two()[0])
    for line, weight in zip(display.lines_[1], display.connections[1].weight, strict=True):
        assert (line.get_linestyle() == "-") == (weight > 0)
    widths = np.array([line.get_linewidth() for line in display.lines_[2]])
    assert (np.diff(widths[np.argsort(np.abs(display.connections[2].weight))]) >= 0).all()


def test_the_path_of_a_row_is_that_of_the_papers_figure():
    tree, _ = models.figure_two()
    display = NetworkDisplay.from_estimator(tree, row=[0.75, 4.25])  # in the region of leaf 4
    assert display.leaf == 1
    assert display.path.tolist() == [0, 1, 2]  # the units numbered 0, 1 and 3
    assert "leaf 4" in display.title
    assert display.labels[2][1].startswith("4: ")


def test_small_weights_and_leaves_of_large_trees_are_omitted_with_a_note():
    model = models.fitted(connectivity="full")
    network = model.network_.with_parameters(model.network_.soft.parameters, np.zeros(4, bool))
    display = NetworkDisplay.from_estimator(network, max_leaves=3, max_inputs=1, weakest=0.5)
    assert len(display.leaves) == 3
    assert len(display.inputs) == 1
    assert "3 of 8 leaves are drawn" in display.note
    assert "connections with small weights are not drawn" in display.note


def test_a_tree_shows_its_changes():
    model = models.fitted()
    tree = int(np.flatnonzero(~model.network_.hard)[0])
    display = TreeDisplay.from_estimator(model, tree=tree)
    assert len(display.boxes_) == len(display.nodes.split) == 15
    root = display.texts_[0].get_text()
    assert f"→ {display.change.threshold_after[0]:.4g}".replace("-", "−") in root
    assert "SD)" in root
    np.testing.assert_allclose(display.value[1], display.change.value_after[:, 0])


def test_a_deep_tree_is_cut_and_deeper_leaves_are_summarised():
    X, y = models.rows()
    display = TreeDisplay.from_estimator(RandomForestRegressor(1, random_state=0).fit(X, y), max_depth=2)
    assert "Nodes deeper than 2 are not drawn." in display.notes
    assert len(display.boxes_) == len(display.layout.node) <= 7
    assert any("leaves, mean" in text.get_text() for text in display.texts_)


def test_a_tree_of_one_leaf_can_be_drawn():
    X, y = models.rows()
    stump = RandomForestRegressor(1, max_depth=1, min_samples_leaf=200).fit(X, y)
    assert TreeDisplay.from_estimator(stump).boxes_
    assert NetworkDisplay.from_estimator(stump, row=X[0]).boxes_[2]


def test_a_constant_target_is_drawn():
    X, _ = models.rows()
    model = small_models.small().fit(X, np.ones(len(X)))
    low, high = SurfaceDisplay.from_estimator(model, X).limits
    assert low < 0.5
    assert high > 1.5
    assert ImportanceDisplay.from_estimator(model).ax_.get_xlim() == (0, 100)


@pytest.mark.parametrize("display", [NetworkDisplay, TreeDisplay])
def test_a_drawing_on_small_axes_is_scaled(display):
    figure, ax = plt.subplots(figsize=(3, 3))
    shown = draw(display, models.fitted(), None, ax=ax)
    assert shown.ax_ is ax
    assert shown.figure_ is figure
    assert texts_overlap(shown) == []


def test_names_come_from_the_columns():
    pandas = pytest.importorskip("pandas")
    X, y = models.rows()
    frame = pandas.DataFrame(X, columns=models.NAMES)
    model = small_models.small().fit(frame, y)
    assert ImportanceDisplay.from_estimator(model).names == models.NAMES
    assert SurfaceDisplay.from_estimator(model, frame, features=("age", "weight")).names == ("age", "weight")
    with pytest.raises(ValueError, match="feature names"):
        SurfaceDisplay.from_estimator(model, frame[list(models.NAMES[::-1])])


def test_missing_columns_and_characters_without_a_font_are_drawn():
    X, y = models.rows()
    X = np.where(np.arange(4) == 3, np.nan, X)
    model = small_models.small(connectivity="full").fit(X, y)
    names = ["年龄", "温度", "é\n(µm)", "e"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        for display in (ImportanceDisplay, NetworkDisplay, SurfaceDisplay):
            draw(display, model, X, feature_names=names).figure_.draw_without_rendering()
        shown = TreeDisplay.from_estimator(model, X, feature_names=names)
    assert np.isfinite(shown.change.shift).all()


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_model_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError, match=r"must be fitted before it is drawn: call fit\(X, y\) first"):
        draw(display, small_models.small(), models.rows()[0])


def test_a_model_of_another_kind_is_refused():
    X, y = models.rows()
    with pytest.raises(UnsupportedModelError):
        TreeDisplay.from_estimator(LinearRegression().fit(X, y))
    with pytest.raises(InvalidParameterError, match="needs a fitted NeuralForestRegressor"):
        TrainingDisplay.from_estimator(RandomForestRegressor(2).fit(X, y))


@pytest.mark.parametrize(
    ("display", "options", "message"),
    [
        (TreeDisplay, {"tree": 4}, "tree must be a number from 0 to 3, got 4"),
        (TreeDisplay, {"max_depth": 0}, "max_depth must be at least 1"),
        (TreeDisplay, {"target": 1}, "target must be the number of an output"),
        (TreeDisplay, {"feature_names": ["a"]}, "feature_names must be 4 names"),
        (NetworkDisplay, {"max_leaves": 0}, "max_leaves and max_inputs must be at least 1"),
        (NetworkDisplay, {"row": [1.0]}, "X must have the 4 features"),
        (ImportanceDisplay, {"max_features": 0}, "max_features must be at least 1"),
        (SurfaceDisplay, {"features": (0,)}, "features must be two names or numbers"),
        (SurfaceDisplay, {"features": (0, 0)}, "two different ones"),
        (SurfaceDisplay, {"features": (0, 9)}, "numbers from 0 to 3"),
        (SurfaceDisplay, {"features": ("feature 0", "nobody")}, "must be among .* got 'nobody'"),
        (SurfaceDisplay, {"grid": 1}, "grid must be at least 2"),
    ],
)
def test_errors_name_the_rule_and_the_value(display, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        draw(display, models.fitted(), models.rows()[0], **options)


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_the_extra_is_named(display, monkeypatch):
    model, (X, _) = models.fitted(), models.rows()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'neuralforest\[plots\]'"):
        draw(display, model, X)
