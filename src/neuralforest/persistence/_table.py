"""The columns of a TableModel as JSON, and back."""

from itertools import pairwise
from typing import Any

from neuralforest.exceptions import ModelFileError
from neuralforest.network import ForestNetwork
from neuralforest.persistence._fields import Fields
from neuralforest.tables import Column, TableModel


def store_table(model: TableModel) -> dict[str, Any]:
    """Return the columns of a model for the JSON."""
    return {
        "target": model.target,
        "columns": [
            {"name": column.name, "categories": None if column.categories is None else list(column.categories)}
            for column in model.columns
        ],
    }


def restore_table(fields: Fields, model: Any) -> TableModel:
    """Return the TableModel that `store_table` was given."""
    target = fields.take("target", str, type(None))
    columns = tuple(_restore_column(Fields(value, "a column")) for value in fields.take("columns", list))
    fields.close()
    network = model if isinstance(model, ForestNetwork) else model.network_
    if len(columns) != network.n_features or len({column.name for column in columns}) != len(columns):
        raise ModelFileError(f"a table must have {network.n_features} columns of different names")
    return TableModel(columns, target, model)


def _restore_column(fields: Fields) -> Column:
    name, categories = fields.take("name", str), fields.strings("categories")
    fields.close()
    if categories is not None and any(a >= b for a, b in pairwise(categories)):
        raise ModelFileError("the categories of a column must be in alphabetical order")
    return Column(name, None if categories is None else tuple(categories))
