"""One HTML page about a fitted model: numbers and pictures, everything inside the file, readable on a phone."""

from collections.abc import Iterable, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.utils.validation import check_consistent_length, column_or_1d

from neuralforest.estimators._base import NeuralForest
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots import ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay
from neuralforest.plots._layers import is_hard
from neuralforest.plots._style import style
from neuralforest.plots._subject import feature_names as names_of
from neuralforest.plots._subject import forest_of, rows_of, trained_estimator
from neuralforest.plots._svg import inline_svg, new_figure
from neuralforest.plots._words import number
from neuralforest.plots.training import loss_units

_CHART = 4.5  # inches: narrow, so that its text can still be read on a phone
_HIDDEN = {"callback", "checkpoint", "n_jobs", "verbose", "warm_start"}

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 0 1rem 3rem; max-width: 64rem; color: #222; background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif; }
h1 { font-size: clamp(1.2rem, 6vw, 1.6rem); line-height: 1.2; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
p { max-width: 42rem; }
table { border-collapse: collapse; margin: .75rem 0; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #e5e5e5; vertical-align: top; }
td { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
th { font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font-size: .9em; overflow-wrap: anywhere; }
figure { margin: .75rem 0; }
figcaption, .quiet { color: #555; font-size: .9rem; max-width: 42rem; }
.chart svg { display: subnetwork; width: 100%; max-width: 38rem; height: auto; }
.drawing { overflow-x: auto; border: 1px solid #e5e5e5; border-radius: .4rem; }
.drawing svg { display: subnetwork; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
summary { cursor: pointer; padding: .3rem 0; }
footer { margin-top: 3rem; }
"""


def write_report(
    estimator: Any, X: Any, y: ArrayLike, path: str | PathLike[str], feature_names: Sequence[str] | None = None
) -> Path:
    """Write one HTML page about a fitted model, judged on the given rows.

    The page holds a summary, scores of forest and network, and the pictures of :mod:`neuralforest.plots`. It is one
    file without scripts that fetches nothing. Needs the extra ``neuralforest[plots]``.

    Parameters
    ----------
    estimator : fitted NeuralForestRegressor or NeuralForestClassifier
    X : array-like (rows, features)
    y : array-like (rows,) or (rows, outputs)
    path : str or path
        The file to write; one that is there is replaced.
    feature_names : sequence of str, optional
        Names in place of those that the estimator knows.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.report import write_report
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> "http" in page
    False
    """
    estimator = trained_estimator(estimator, "write_report")
    names, rows = names_of(estimator, feature_names, X), rows_of(estimator, X)
    target = _check_y(estimator, rows, y)
    sections = [
        ("Summary", _summary(estimator, rows)),
        ("Scores on the given rows", _scores(estimator.network_, rows, target)),
        ("Training", _training(estimator)),
        ("What matters", _importances(estimator, names)),
        ("What the model says", _surface(estimator, rows, names)),
        ("A tree before and after training", _tree(estimator, rows, names)),
        ("The same tree as a network", _network(estimator, rows, names)),
        ("Settings", _settings(estimator)),
    ]
    path = Path(path)
    path.write_text(_page(type(estimator).__name__, sections), encoding="utf-8")
    return path


def _page(title: str, sections: Iterable[tuple[str, str]]) -> str:
    from neuralforest import __version__

    body = "\n".join(f"<section>\n<h2>{escape(head)}</h2>\n{content}\n</section>" for head, content in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="neuralforest {escape(__version__)}">
<link rel="icon" href="data:,">
<title>{escape(title)}: report</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}: report</h1>
<main>
{body}
</main>
<footer class="quiet">Written by neuralforest {escape(__version__)}. This page is one file and fetches nothing.</footer>
</body>
</html>
"""


def _table(rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Return a table; numbers are written to be read, and everything else is escaped."""

    def cell(value: Any, tag: str = "td") -> str:
        if isinstance(value, float | int):
            return f'<{tag} class="number">{number(float(value)) if isinstance(value, float) else f"{value:,}"}</{tag}>'
        return f"<{tag}>{escape(str(value))}</{tag}>"

    titles = [f'<th class="number">{escape(title)}</th>' if i else cell(title, "th") for i, title in enumerate(head)]
    lines = ["<tr>" + "".join(titles) + "</tr>"] if head else []
    lines += ["<tr>" + cell(row[0], "th") + "".join(cell(value) for value in row[1:]) + "</tr>" for row in rows]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def _picture(display: Any, name: str, description: str, drawing: bool = False, size: Any = None) -> str:
    """Return a display as a figure of the page: a chart, which shrinks with the page, or a drawing, which scrolls."""
    figure = new_figure(size or display.size, None if drawing else "constrained")
    with style():
        if drawing:
            display.plot(figure.add_axes((0.0, 0.0, 1.0, 1.0)))
        elif isinstance(display, SurfaceDisplay):
            display.plot(figure.subplots(1, 2, sharex=True, sharey=True))
        else:
            display.plot(figure.add_subplot())
    svg = inline_svg(figure, name, description)
    if drawing:
        svg = svg.replace("<svg ", f'<svg style="width:{display.size[0]:.2f}in" ', 1)
        box = f'<div class="drawing" tabindex="0" role="group" aria-label="scrolls sideways">{svg}</div>'
    else:
        box = f'<div class="chart">{svg}</div>'
    return f"<figure>{box}<figcaption>{escape(description)}</figcaption></figure>"


def _check_y(estimator: NeuralForest, rows: NDArray[np.floating], y: ArrayLike) -> NDArray[Any]:
    """Return the targets, or for a classifier the place of each label among the classes."""
    y = np.asarray(y)
    check_consistent_length(rows, y)
    classes = estimator.network_.classes
    if classes is None:
        n_outputs = estimator.network_.ensemble.n_outputs
        target = np.asarray(y, np.float64).reshape(len(y), -1)
        if target.shape[1] != n_outputs or not np.isfinite(target).all():
            raise InvalidParameterError(
                f"y must hold {n_outputs} finite numbers a row, got an array of shape {y.shape}"
            )
        return target
    place = {label: i for i, label in enumerate(classes.tolist())}
    labels = column_or_1d(y).tolist()
    unknown = sorted({str(label) for label in labels if label not in place})
    if unknown:
        raise InvalidParameterError(f"y must hold only the classes {list(place)}, got {', '.join(unknown[:5])} too")
    return np.array([place[label] for label in labels])


def _summary(estimator: NeuralForest, rows: NDArray[np.floating]) -> str:
    network = estimator.network_
    e = network.ensemble
    label, unit, power = loss_units(estimator)
    forest, trained = (float(unit * loss**power) for loss in (estimator.forest_loss_, estimator.validation_loss_))
    name = label.split(" (")[0]
    less = 100 * (1 - trained / forest) if forest > 0 else 0.0
    verdict = (
        f"On the validation rows the {name} of the neural forest is {number(trained)}, "
        + (f"{less:.1f}% less than" if less >= 0.05 else "the same as")
        + f" the forest's {number(forest)}."
    )
    beside = [(f"Share of {companion} beside it", companion.share) for companion in network.base_models]
    table = [
        ("Rows given", len(rows)),
        ("Features", e.n_features),
        *([("Classes", len(network.classes))] if network.classes is not None else []),
        ("Trees", e.n_trees),
        ("Leaves", e.n_leaves),
        ("Weights of the network", network.n_parameters),
        *beside,
        (f"Forest's validation {label}", forest),
        (f"Network's validation {label}", trained),
    ]
    return f"<p>{escape(verdict)}</p>\n{_table(table)}"


def _scores(network: ForestNetwork, rows: NDArray[np.floating], target: NDArray[Any]) -> str:
    both = forest_of(network), network
    table: list[tuple[str, float, float]] = []

    def add(name: str, values: Iterable[float]) -> None:
        forest, trained = (float(value) for value in values)
        table.append((name, forest, trained))

    if network.classes is None:
        predictions = [n.predict(rows).reshape(len(rows), -1) for n in both]
        add("RMSE (units of the target)", (root_mean_squared_error(target, p) for p in predictions))
        add("mean absolute error (units of the target)", (mean_absolute_error(target, p) for p in predictions))
        if len(rows) > 1:
            add("R² (1 is perfect)", (r2_score(target, p) for p in predictions))
    else:
        own = (n.predict_proba(rows)[np.arange(len(rows)), target] for n in both)
        add("log loss (nats a row)", (-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean() for p in own))
        predicted = (np.searchsorted(network.classes, n.predict(rows)) for n in both)
        add("accuracy (share of rows)", (accuracy_score(target, p) for p in predicted))
    note = (
        f"Measured on the {len(rows):,} rows given for this page. A model does not remember its rows, so it cannot be "
        "known whether these were among those it was trained on; if they were, the scores are better than they will be "
        "on new rows."
    )
    return f'{_table(table, ("", "forest", "neural forest"))}\n<p class="quiet">{escape(note)}</p>'


def _training(estimator: NeuralForest) -> str:
    if getattr(estimator, "history_", None) is None:
        return "<p>The model was kept without its history.</p>"
    display = TrainingDisplay._read(estimator)
    text = "Loss of every epoch. Epoch 0 is the forest with smooth units, before training"
    text += "; the bands hold the middle 80% of the trees." if display.independent else "."
    return _picture(display, "training", text, size=(_CHART, 4.2))


def _importances(estimator: NeuralForest, names: Sequence[str]) -> str:
    display = ImportanceDisplay._read(estimator, names)
    text = "Share of each feature in the decrease in impurity, in the forest and in the trained network."
    picture = _picture(display, "importance", text, size=(_CHART, display.size[1]))
    order = np.argsort(-display.network, kind="stable")
    table = _table(
        [(names[i], float(100 * display.forest[i]), float(100 * display.network[i])) for i in order],
        ("feature", "forest, %", "neural forest, %"),
    )
    return f"{picture}\n<details><summary>All features as numbers</summary>{table}</details>"


def _surface(estimator: NeuralForest, rows: NDArray[np.floating], names: Sequence[str]) -> str:
    if len(names) < 2:
        return "<p>A surface needs two features, and this model has one.</p>"
    display = SurfaceDisplay._read(estimator, rows, names=names)
    text = (
        f"{display.label.capitalize()} over the two features that matter most, {display.names[0]} and "
        f"{display.names[1]}, the others at their medians. Dots are rows of the data."
    )
    return _picture(display, "surface", text, size=(_CHART, 2.9))


def _first_trained(network: ForestNetwork) -> int:
    """Return the first tree that training has changed, or 0."""
    return next((tree for tree in range(network.ensemble.n_trees) if not is_hard(network, tree)), 0)


def _tree(estimator: NeuralForest, rows: NDArray[np.floating], names: Sequence[str]) -> str:
    display = TreeDisplay._read(estimator, rows, _first_trained(estimator.network_), names=names)
    text = (
        "Thresholds of the splits and values of the leaves, before and after training; swipe sideways to see all of it."
    )
    return _picture(display, "tree", text, drawing=True)


def _network(estimator: NeuralForest, rows: NDArray[np.floating], names: Sequence[str]) -> str:
    tree = _first_trained(estimator.network_)
    display = NetworkDisplay._read(estimator, tree, rows[0], max_leaves=8, max_inputs=8, weakest=0.2, names=names)
    text = "One unit a split, one unit a leaf. The path of the first of the given rows is highlighted."
    return _picture(display, "network", text, drawing=True)


def _settings(estimator: NeuralForest) -> str:
    settings = {name: repr(value) for name, value in estimator.get_params(deep=False).items() if name not in _HIDDEN}
    if np.ndim(estimator.contrast) > 1:
        settings["contrast"] += f", of which {estimator.contrast_} was kept"
    return _table(settings.items())
