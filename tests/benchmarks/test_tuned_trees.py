"""The table of trees that stay trees: means over splits, and times in units of what they may take."""

import numpy as np
import pandas as pd

from benchmarks.accuracy.tuned_trees import Measured, report


def runs(*rows):
    return pd.DataFrame([Measured(*row) for row in rows], columns=Measured._fields)


ROWS = [
    ("a", "regression", 100, 0, "all features", "leaves", 2.0, 1.0, 0.4, 1.0, 3.0, np.nan),
    ("a", "regression", 100, 1, "all features", "leaves", 2.0, 2.0, 0.4, 1.0, 5.0, np.nan),
    ("b", "regression", 100, 0, "all features", "leaves", 1.0, 1.0, 0.0, 1.0, 2.0, np.nan),
    ("b", "regression", 100, 1, "all features", "leaves", 1.0, 1.0, 0.0, 1.0, 2.0, np.nan),
    ("a", "regression", 100, 0, "all features", "splits", 2.0, 0.5, 0.5, 1.0, 28.0, 4.0),
    ("a", "regression", 100, 1, "all features", "splits", 2.0, 0.5, 0.5, 1.0, 28.0, 4.0),
    ("a", "regression", 100, 0, "a third", "splits", 4.0, 1.0, 0.5, 2.0, 12.0, np.nan),
    ("a", "regression", 100, 1, "a third", "splits", 4.0, 1.0, 0.5, 2.0, 12.0, np.nan),
]


def test_ratios_are_means_over_splits_and_times_are_in_units_of_their_budgets():
    text = report(runs(*ROWS))
    first, second = text.split("## Regression, a third")
    assert "| a | 2 | 2 | 0.750 | 0.250 | 4.00 | 2.00 |" in first
    assert "| b | 2 | 1 | 1.000 | nan | 2.00 | nan |" in first
    assert f"| geometric mean |  |  | {0.75**0.5:.3f} | 0.250 | {8**0.5:.3f} | 2.000 |" in first
    assert "| worst |  |  | 1.000 | 0.250 | 4.000 | 2.000 |" in first
    assert "| a | 2 | 4 | 0.250 | 0.50 |" in second  # the default fit is measured with the first source alone


def test_missing_runs_are_named():
    assert "Incomplete, finished runs: all features, leaves: 4; all features, splits: 2" in report(runs(*ROWS))
    assert "Incomplete" not in report(runs(*(row for row in ROWS if row[0] == "a")))
