"""TableModel: a model together with the columns of the table that it was fitted on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from neuralforest.exceptions import TableError
from neuralforest.tables.columns import Column, listed
from neuralforest.tables.target import read_target

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model together with the columns of the table that it was fitted on.

    ``neuralforest fit`` writes it, and :func:`neuralforest.load` returns it for such a file.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the model's features.
    target : str, optional
        Name of the column that is predicted.
    model : NeuralForestRegressor, NeuralForestClassifier or ForestNetwork

    Examples
    --------
    >>> import neuralforest as nf
    >>> import pandas
    >>> table = pandas.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 10, "kind": ["a", "b"] * 20, "price": range(40)})
    >>> model = nf.TableModel.learn(table, "price", nf.NeuralForestRegressor(max_epochs=1, random_state=0))
    >>> model.columns
    (Column(name='size', categories=None), Column(name='kind', categories=('a', 'b')))
    >>> model.predict(table[:3]).shape
    (3,)
    """

    columns: tuple[Column, ...]
    target: str | None
    model: Any

    @classmethod
    def learn(cls, table: "pandas.DataFrame", target: str, estimator: Any) -> "TableModel":
        """Fit an estimator to all columns of a table except the target."""
        y = read_target(column_of(table, target), "classification" if is_classifier(estimator) else "regression")
        columns = tuple(Column.learn(table[name]) for name in table.columns if name != target)
        if not columns:
            raise TableError(f"the table must have other columns than the target {target!r}, got none: add features")
        model = cls(columns, target, estimator)
        estimator.fit(model.encode(table), y)
        return model

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in the order of the model's features."""
        return [column.name for column in self.columns]

    def encode(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return a table as the model takes it, (rows, columns); other columns are ignored."""
        lacking = [name for name in self.column_names if name not in table.columns]
        if lacking:
            raise TableError(
                f"the table must have the {len(self.columns)} columns that the model was fitted on, and lacks "
                f"{listed(lacking)}; it has {listed(table.columns)}: add or rename columns"
            )
        if not len(table):
            raise TableError("the table must have at least one row, got none: add rows below the column names")
        return np.column_stack([column.encode(table[column.name]) for column in self.columns])

    def predict(self, table: "pandas.DataFrame") -> NDArray[Any]:
        """Predict the target of each row of a table."""
        return np.asarray(self.model.predict(self._rows(table)))

    def predict_proba(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return class probabilities, (rows, classes)."""
        return np.asarray(self.model.predict_proba(self._rows(table)))

    def _rows(self, table: "pandas.DataFrame") -> Any:
        """Return the encoded table, as a data frame if the model was fitted with feature names."""
        import pandas

        names = getattr(self.model, "feature_names_in_", None)
        X = self.encode(table)
        return X if names is None else pandas.DataFrame(X, columns=names)


def column_of(table: "pandas.DataFrame", name: str) -> "pandas.Series":
    """Return a column; a name that does not exist is an error that lists those that do."""
    if name not in table.columns:
        raise TableError(f"the table has no column {name!r}: choose one of {listed(table.columns, most=30)}")
    return table[name]
