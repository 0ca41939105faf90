"""The paper's table: plan, resuming, comparison and rendering, without any fit. Needs no data folder."""

import html.parser

import pytest

from benchmarks.paper import __main__ as command
from benchmarks.paper import models, plan, render, table
from benchmarks.paper.plan import AUTHORS, AUTHORS_AUTO_MPG, MODELS, SETS, SLOPE, TEXT, VARIANTS, Measured, Run
from benchmarks.paper.table import ABOVE, BELOW, WITHIN, Cell, Published


def measured(rmse=1.0, seconds=2.0):
    return Measured(rmse, rmse + 0.5, 7, seconds, "neuralforest 0.1.0, scikit-learn 1.9.1")


def all_runs(rmse_of):
    return {run: measured(rmse_of(run)) for run in plan.plan()}


@pytest.fixture
def no_fitting(monkeypatch):
    """Replace every fit; return the list of the runs."""
    made = []

    def measure(run, jobs):
        made.append(run)
        return measured(float(run.repetition + 1))

    monkeypatch.setattr(models, "measure", measure)
    return made


# The plan.


def test_everything_sparse_or_independent_has_ten_repetitions():
    counts = {(data, model): plan.repetitions_of(data, model) for data in SETS for model in MODELS}
    dense = {"NRF2 full", "NN2", "NN3"}
    assert all(count == 10 for (_, model), count in counts.items() if model not in dense)
    assert counts["protein", "NN3"] == 1
    assert counts["concrete", "NRF2 full"] == 3


def test_both_forests_are_run():
    assert plan.variants_of("RF") == (AUTHORS, TEXT)
    assert plan.variants_of("NRF1 sparse") == (AUTHORS, SLOPE, TEXT)
    assert plan.variants_of("BART") == ("",)


def test_a_plan_names_every_run_once():
    runs = plan.plan()
    assert len(set(runs)) == len(runs)
    assert {run.data for run in runs} == {*SETS, AUTHORS_AUTO_MPG}
    assert {run.model for run in runs} == set(MODELS)


def test_cheap_runs_come_first_and_the_dense_networks_of_protein_last():
    runs = plan.plan()
    assert runs[0].model == "RF"
    last = [run for run in runs if run.data == "protein" and run.model in ("NRF2 full", "NN1", "NN2", "NN3")]
    assert runs[-len(last) :] == last


def test_three_repetitions_of_every_dense_cell_come_before_ten_of_any():
    runs = [run for run in plan.plan() if run.model == "NRF2 full" and run.data != "protein"]
    late = [run.repetition >= 3 for run in runs]
    assert late == sorted(late)


def test_repetitions_can_be_given_for_all_cells():
    runs = plan.plan(["protein"], ["NN3", "RF"], repetitions=2)
    assert {run.repetition for run in runs} == {0, 1}
    assert len(runs) == 2 * (1 + 2)


# Results that grow, and resuming.


def test_results_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "folder" / "paper.csv"
    run, other = Run("concrete", "NRF1 full", SLOPE, 3), Run("concrete", "BART", "", 0)
    plan.append(path, run, measured(6.25))
    plan.append(path, other, measured(5.5))
    assert plan.read(path) == {run: measured(6.25), other: measured(5.5)}


def test_a_truncated_line_is_run_again(tmp_path):
    path = tmp_path / "paper.csv"
    first, second = Run("concrete", "RF", AUTHORS, 0), Run("concrete", "RF", AUTHORS, 1)
    plan.append(path, first, measured())
    plan.append(path, second, measured())
    path.write_bytes(path.read_bytes()[:-12])
    assert set(plan.read(path)) == {first}
    plan.append(path, second, measured(3.0))
    assert plan.read(path) == {first: measured(), second: measured(3.0)}


def test_a_finished_run_is_never_repeated(tmp_path, no_fitting):
    path = tmp_path / "paper.csv"
    runs = plan.plan(["wisconsin"], ["RF", "BART"], repetitions=2)
    plan.append(path, runs[1], measured(123.0))
    command.execute(runs, path)
    assert no_fitting == [runs[0], *runs[2:]]
    command.execute(runs, path)
    assert len(no_fitting) == len(runs) - 1
    assert plan.read(path)[runs[1]].test_rmse == 123.0


def test_a_run_that_another_process_has_finished_meanwhile_is_skipped(tmp_path, monkeypatch):
    path = tmp_path / "paper.csv"
    runs = plan.plan(["wisconsin"], ["BART"], repetitions=2)
    made = []

    def measure(run, jobs):
        made.append(run)
        plan.append(path, runs[1], measured())
        return measured()

    monkeypatch.setattr(models, "measure", measure)
    command.execute(runs, path)
    assert made == runs[:1]


def test_the_command_resumes_and_writes_the_tables(tmp_path, no_fitting, capsys):
    path = tmp_path / "paper.csv"
    arguments = ["--sets", "housing", "--models", "RF", "--repetitions", "2", "--results", str(path)]
    assert command.main(arguments) == 0
    assert len(no_fitting) == 4
    assert command.main(arguments) == 0
    assert len(no_fitting) == 4
    assert "4 of 4 runs are finished" in capsys.readouterr().out
    assert path.with_suffix(".md").exists()
    assert path.with_suffix(".html").exists()


def test_an_interrupted_command_names_how_to_resume(tmp_path, monkeypatch, capsys):
    def stop(run, jobs):
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "measure", stop)
    assert command.main(["--models", "RF", "--results", str(tmp_path / "paper.csv")]) == 0
    assert "run the same command again to resume" in capsys.readouterr().err


def test_a_missing_library_is_named_before_anything_runs(tmp_path, monkeypatch, capsys, no_fitting):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(command.importlib, "import_module", refuse)
    assert command.main(["--models", "BART", "--results", str(tmp_path / "paper.csv")]) == 1
    assert "stochtree is missing: pip install 'neuralforest[bench]'" in capsys.readouterr().err
    assert not no_fitting


def test_a_dry_run_estimates_the_time_and_runs_nothing(tmp_path, no_fitting, capsys):
    path = tmp_path / "paper.csv"
    assert command.main(["--dry-run", "--results", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"0 of {len(plan.plan())} runs are finished" in printed
    assert " in all, one run after the other" in printed
    assert not no_fitting
    assert list(tmp_path.iterdir()) == []


def test_estimates_are_means_of_the_finished_runs_of_a_cell():
    run = Run("concrete", "NRF1 sparse", AUTHORS, 5)
    results = {run._replace(repetition=r): measured(seconds=s) for r, s in ((0, 10.0), (1, 20.0))}
    assert plan.seconds_left([run, run], results) == 30.0


def test_estimates_without_measurements_grow_with_the_rows():
    small, large = (plan.seconds_left([Run(data, "NN2", "", 0)], {}) for data in ("wisconsin", "protein"))
    assert large / small == pytest.approx(45730 / 194)


@pytest.mark.parametrize(("seconds", "text"), [(3.4, "3 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations_have_units(seconds, text):
    assert plan.duration(seconds) == text


# Comparison with the published table.


def test_the_published_table_is_complete():
    published = table.published()
    assert len(published) == 8 * 9
    assert published["concrete", "RF"] == Published("8.39 (0.62)", 8.39, 0.62, 2)
    assert published[AUTHORS_AUTO_MPG, "RF"] == published["auto_mpg", "RF"]


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(8.39, WITHIN), (9.63, WITHIN), (9.634, WITHIN), (9.64, ABOVE), (7.15, WITHIN), (7.14, BELOW)],
)
def test_a_verdict_is_within_two_standard_deviations_of_the_paper(mean, expected):
    assert table.verdict(Cell(mean, None, 1), Published("8.39 (0.62)", 8.39, 0.62, 2)) == expected


def test_cells_are_means_with_the_deviation_of_a_sample():
    run = Run("concrete", "RF", AUTHORS, 0)
    results = {run._replace(repetition=r): measured(rmse) for r, rmse in enumerate((7.0, 8.0, 9.0))}
    results[Run("crime", "RF", TEXT, 0)] = measured(0.1784)
    cells = table.cells(results)
    assert cells["concrete", "RF", AUTHORS] == Cell(8.0, 1.0, 3)
    assert str(cells["concrete", "RF", AUTHORS]) == "8.00 (1.00)"
    assert str(cells["crime", "RF", TEXT]) == "0.178"


def test_variants_of_one_forest_share_its_column():
    results = {Run("concrete", "RF", AUTHORS, 0): measured(8.0), Run("concrete", "BART", "", 0): measured(5.0)}
    cells = table.cells(results)
    assert table.find(cells, "concrete", "RF", SLOPE).mean == 8.0
    assert table.find(cells, "concrete", "RF", TEXT) is None
    assert table.find(cells, "concrete", "BART", TEXT).mean == 5.0


def test_a_published_cell_of_another_form_is_rejected():
    with pytest.raises(ValueError, match=r"must look like '8.39 \(0.62\)', got 'n/a'"):
        table._parse("n/a")


# The paper's first claim.


def test_the_claim_is_true_when_every_network_beats_its_forest():
    results = all_runs(lambda run: 2.0 if run.model == "RF" else 1.0)
    assert all(table.claim(results, variant) == ("true", []) for variant in VARIANTS)


def test_the_claim_is_false_where_one_network_does_not():
    def rmse(run):
        return 3.0 if run[:3] == ("housing", "NRF2 sparse", TEXT) else 2.0 if run.model == "RF" else 1.0

    answer, failures = table.claim(all_runs(rmse), TEXT)
    assert answer == "false"
    (failure,) = failures
    assert (failure.data, failure.model, failure.forest, failure.network) == ("housing", "NRF2 sparse", 2.0, 3.0)
    assert table.claim(all_runs(rmse), AUTHORS) == ("true", [])


def test_the_claim_is_unfinished_while_cells_are_missing():
    results = all_runs(lambda run: 2.0 if run.model == "RF" else 1.0)
    kept = {run: each for run, each in results.items() if run[:2] != ("protein", "NRF2 full")}
    assert table.claim(kept, AUTHORS) == ("unfinished", [])


def test_forest_and_network_are_compared_on_the_repetitions_that_both_have():
    results = {Run("concrete", "RF", AUTHORS, r): measured(rmse) for r, rmse in enumerate((8.0, 100.0))}
    results[Run("concrete", "NRF2 full", AUTHORS, 0)] = measured(7.0)
    (comparison,) = table.comparisons(results)
    assert (comparison.forest, comparison.network, comparison.improves) == (8.0, 7.0, True)


# Rendering.


def test_markdown_has_both_results_the_runs_and_the_verdict():
    results = {Run("concrete", "RF", AUTHORS, r): measured(rmse) for r, rmse in enumerate((8.0, 9.0))}
    results[Run("concrete", "BART", "", 0)] = measured(7.0)
    text = render.markdown(results, render.stamp_of(results, "python -m benchmarks.paper"))
    assert "8.50 (0.71), 2 runs<br>paper 8.39 (0.62)<br>within" in text
    assert "7.00, 1 run<br>paper 5.20 (0.34)<br>**above**" in text
    assert "not run<br>paper 6.28 (0.40)" in text
    assert "Command: `python -m benchmarks.paper`. Versions: neuralforest 0.1.0, scikit-learn 1.9.1, Python" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len(tables) == 4 * (8 + 2)
    assert "| Concrete |  |  |  | 2 |  |  |  |  | 2 |" in tables
    assert {line.count(" | ") for line in tables[2:10]} == {9}


def test_findings_state_agreement_and_claim():
    results = all_runs(lambda run: table.published()[run.data, run.model].mean)
    findings = render.findings(results)
    assert "35 of 35 RF and NRF cells" in findings[0]
    assert "all five of a set are on 7 of 7 sets" in findings[0]
    assert findings[3] == '"Every NRF improves over its RF on every set", authors: true.'


def test_the_page_is_well_formed_and_escaped():
    class Reader(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.cells = [], 0

        def handle_starttag(self, tag, attrs):
            self.cells += tag == "td"
            if tag not in ("br", "meta"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    results = all_runs(lambda run: 1.0)
    page = render.page(results, "Command: `a < b`")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.cells == 8 * (9 + 5 + 5 + 9)
    assert "<code>a &lt; b</code>" in page
