import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.inspection import partial_dependence

import neuralforest as nf
import small_models
from neuralforest.exceptions import InvalidParameterError, NotFittedError
from neuralforest.network import StackedModel
from neuralforest.report import write_report
from neuralforest.report._dependence import dependence
from neuralforest.report._scores import classification_scores, regression_scores
from plots import browser, models

EMPTY = {"meta", "link", "br", "img", "hr"}


class Page(HTMLParser):
    """Collects the elements of a page, and fails where they are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.words, self.links = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href"):
                self.links.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    X, y = models.rows()
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(models.fitted("independent", "full"), X, y, path, models.NAMES)


def test_the_page_is_one_file_that_fetches_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?://|//[a-z]+\.", re.sub(r"data:image/png;base64,[^\"]*", "", text))
    found = Page(text)
    assert "script" not in found.tags
    assert found.tags.count("svg") == 11  # two of residuals, four of partial dependence, five of the model
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert not re.search(r"url\((?!#)", text)
    assert len(found.ids) == len(set(found.ids))
    assert all(name[1:] in found.ids for name in found.links if name.startswith("#"))
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text


def test_names_are_escaped(page):
    text = page.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;height&lt;/b&gt; &amp; $cm$" in text
    assert models.NAMES[2] in Page(text).text


def test_labels_of_classes_are_escaped(tmp_path):
    X, y = small_models.classification()
    labels = np.array(["<script>alert(1)</script>", "b & c", '"d"'])[y]
    model = small_models.small(True).fit(X, labels)
    text = write_report(model, X, labels, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "script" not in Page(text).tags


def test_the_page_has_the_scores(page):
    X, y = models.rows()
    model, text = models.fitted("independent", "full"), Page(page.read_text(encoding="utf-8")).text
    for predicted in (model.forest_.predict(X), model.predict(X)):
        assert f"{np.sqrt(np.mean((predicted - y) ** 2)):.4g}" in text
    assert f"Computed on {len(X)} rows" in text
    assert f"{np.sqrt(model.validation_loss_) * model.network_.soft.output_scale[0]:.4g}" in text
    assert "if it was, the scores are better than on new rows" in text


def test_the_page_of_a_classifier_has_log_loss_and_accuracy(tmp_path):
    (X, y), model = models.rows(True), models.fitted(classifier=True)
    text = Page(write_report(model, X, y, tmp_path / "page.html").read_text(encoding="utf-8")).text
    own = model.predict_proba(X)[np.arange(len(y)), y]
    assert f"{-np.log(own).mean():.4g}" in text
    found = re.search(r"accuracy ([\d.]+) \([\d.]+ to [\d.]+\) ([\d.]+) \(", text)
    assert found.groups() == (f"{model.forest_.score(X, y):.4g}", f"{model.score(X, y):.4g}")


def test_the_page_has_the_stacking_weights_of_the_model(tmp_path):
    X, y = models.rows()
    model = small_models.small().fit(X, y)
    boosting = StackedModel("gradient_boosting", nf.convert(small_models.boosted().fit(X, y)), 0.25)
    model.network_ = model.network_.with_base_models((boosting,))
    text = Page(write_report(model, X, y, tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "The model is a stack" in text
    assert "each prediction is a weighted mean, 75% from the network, 25% from gradient boosting." in text
    assert (
        f"The network has a weight of 0.75 in the prediction; this tree, {0.75 / model.network_.ensemble.n_trees:.2g}"
        in text
    )
    assert f"RMSE {np.sqrt(np.mean((model.forest_.predict(X) - y) ** 2)):.4g}" in text
    assert f"{np.sqrt(np.mean((model.predict(X) - y) ** 2)):.4g}" in text


def test_the_same_model_gives_the_same_page(page, tmp_path):
    X, y = models.rows()
    again = write_report(models.fitted("independent", "full"), X, y, str(tmp_path / "again.html"), models.NAMES)
    assert again.read_bytes() == page.read_bytes()


def test_the_title_has_target_data_set_and_date(tmp_path):
    X, y = models.rows()
    options = {"target": "a < b", "data": "table.csv", "date": "2026-01-31"}
    text = write_report(models.fitted(), X, y, tmp_path / "page.html", **options).read_text(encoding="utf-8")
    assert "<h1>Prediction of a &lt; b, table.csv</h1>" in text
    assert f"Regression, evaluated on {len(X)} rows, 2026-01-31" in text


def test_scores_have_intervals_that_hold_the_score_and_shrink_with_the_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(4000, 1))
    few, many = (regression_scores(y[:n], y[:n] + 0.5 * y[:n] ** 2)["RMSE"] for n in (40, 4000))
    for score in (few, many):
        assert score.low < score.value < score.high
    assert many.high - many.low < 0.3 * (few.high - few.low)
    true = np.sqrt(0.25 * 3)  # the fourth moment of a normal variable is 3
    assert many.low < true < many.high


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(50, 2))
    prediction = y + rng.normal(size=(50, 2))
    found = regression_scores(y, prediction)
    assert found["RMSE"].value == pytest.approx(np.sqrt(np.mean((y - prediction) ** 2)))
    assert found["R²"].value == pytest.approx(metrics.r2_score(y, prediction))
    target, p = rng.integers(0, 2, 50), rng.dirichlet([1, 1], 50)
    found = classification_scores(target, p)
    assert found["log loss"].value == pytest.approx(metrics.log_loss(target, p))
    assert found["Brier score"].value == pytest.approx(2 * metrics.brier_score_loss(target, p[:, 1]))


def test_the_calibration_error_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    target, p = rng.integers(0, 3, 500), rng.dirichlet([0.5, 0.5, 0.5], 500)
    p[0] = [0.0, 1.0, 0.0]
    confidence, right = p.max(axis=1), p.argmax(axis=1) == target
    expected = 0.0
    for low in np.arange(10) / 10:
        part = (confidence >= low) & ((confidence < low + 0.1) | ((low > 0.85) & (confidence == 1)))
        if part.any():
            expected += part.mean() * abs(confidence[part].mean() - right[part].mean())
    assert classification_scores(target, p)["expected calibration error"].value == pytest.approx(expected)


def test_partial_dependence_of_a_forest_is_that_of_scikit_learn():
    X, _ = models.rows()
    model = models.fitted()
    chart = dependence(model, model.encode(X), models.NAMES, [1])[0]
    grid = {"custom_values": {1: chart.values}}
    expected = partial_dependence(model.forest_, X, [1], method="brute", **grid)["average"][0]
    some = np.unique(np.linspace(0, len(X) - 1, min(len(X), 200)).astype(int))
    if len(some) < len(X):
        expected = partial_dependence(model.forest_, X[some], [1], method="brute", **grid)["average"][0]
    np.testing.assert_allclose(chart.forest, expected, rtol=1e-5)


def test_curves_of_rows_of_one_class_are_replaced_by_a_sentence(tmp_path):
    X, y = models.rows(True)
    one = y == 1
    text = write_report(models.fitted(classifier=True), X[one], y[one], tmp_path / "p.html").read_text(encoding="utf-8")
    assert "These curves need rows of at least two classes" in text


def test_models_of_one_feature_and_of_several_targets_have_a_report(tmp_path):
    X, y = small_models.regression()
    for rows, target in ((X[:, :1], y), (X, np.column_stack([y, -y]))):
        model = small_models.small().fit(rows, target)
        Page(write_report(model, rows, target, tmp_path / "page.html").read_text(encoding="utf-8"))


def test_boosted_models_have_a_report(tmp_path):
    X, y = small_models.classification(classes=2)
    Page(write_report(models.boosted(True), X, y, tmp_path / "page.html").read_text(encoding="utf-8"))


def test_errors_are_sentences(tmp_path):
    X, y = models.rows()
    path = tmp_path / "page.html"
    with pytest.raises(NotFittedError, match="must be fitted"):
        write_report(small_models.small(), X, y, path)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        write_report(models.fitted(), X, y[1:], path)
    with pytest.raises(InvalidParameterError, match="y must have 1 finite numbers per row"):
        write_report(models.fitted(), X, np.full(len(y), np.nan), path)
    with pytest.raises(InvalidParameterError, match=r"y must have only the classes \[0, 1, 2\], got also 9"):
        write_report(models.fitted(classifier=True), X, np.full(len(y), 9), path)
    assert not path.exists()


def test_every_image_of_the_docs_exists_and_is_small():
    docs = Path(__file__).parents[2] / "docs"
    images = re.findall(r"\]\((images/.*?)\)", (docs / "pictures.md").read_text(encoding="utf-8"))
    assert len(images) == 8
    assert all((docs / image).stat().st_size < 150_000 for image in images)


@pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")
def test_a_real_browser_shows_the_page_without_errors(page, tmp_path):
    width = "document.documentElement.scrollWidth"
    shown = "[...document.querySelectorAll('svg')].every(svg => svg.getBoundingClientRect().height > 100)"
    smallest = (  # in pixels on the screen
        "Math.min(...[...document.querySelectorAll('svg text')].map(text =>"
        " parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)))"
    )
    with browser.Browser(tmp_path / "profile") as chromium:
        for pixels in (1280, 390, 320):
            visit = chromium.visit(page, pixels, [width, shown, smallest])
            assert visit.console == []
            outside = [url for url in visit.requests if not url.startswith("data:")]
            assert outside == [page.resolve().as_uri()]
            assert visit.answers[width] <= pixels
            assert visit.answers[shown] is True
            assert visit.answers[smallest] > (8 if pixels > 320 else 6.5)
