"""Data frames: from named columns of numbers and strings to the numeric matrix that an estimator takes.

A string column is ordinally encoded: a category becomes its position in alphabetical order. Missing values, and
categories that are new at prediction time, become NaN. pandas is imported on use. Files and the command line are in
`cli`.
"""

from neuralforest.tables.columns import Column, listed
from neuralforest.tables.table_model import TableModel, column_of
from neuralforest.tables.target import MAX_CLASSES, Task, guess_task, read_target

__all__ = ["MAX_CLASSES", "Column", "TableModel", "Task", "column_of", "guess_task", "listed", "read_target"]
