"""From tables with names and texts to the numbers that an estimator takes, at every prediction as at the fit.

A text becomes the place of its category in alphabetical order: 0 for the first, 1 for the second. A missing value, and
a category that the fit has not seen, become NaN. pandas is imported on use; knows no files and no command line.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from neuralforest.exceptions import TableError, TableWarning

if TYPE_CHECKING:
    import pandas

Task = Literal["classification", "regression"]

MOST_CLASSES = 10
"""A target of whole numbers is taken for classes when it has at most this many different ones."""
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Column:
    """A column that a model looks at.

    Parameters
    ----------
    name : str
    categories : tuple of str, optional
        In alphabetical order, for a column of texts; None for one of numbers.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def learn(cls, values: "pandas.Series") -> "Column":
        """Decide whether a column holds numbers or texts, and which texts."""
        _, wrong = _numbers(values)
        return cls(str(values.name), tuple(sorted(set(_texts(values).dropna()))) if wrong.any() else None)

    def encode(self, values: "pandas.Series") -> NDArray[np.float64]:
        """Return the column as numbers, (rows,)."""
        if self.categories is None:
            numbers, wrong = _numbers(values)
            _refuse(values, wrong, "must hold numbers", "correct it, or leave it empty where the value is missing")
            _refuse(values, np.abs(numbers) > _LARGEST, f"must hold numbers below {_LARGEST:.2g}", "correct it")
            return numbers
        texts = _texts(values)
        codes = texts.map({category: float(place) for place, category in enumerate(self.categories)})
        unseen = (codes.isna() & texts.notna()).to_numpy()
        if unseen.any():
            warnings.warn(
                f"column {self.name!r} holds {listed(sorted(set(texts[unseen])))}, which the model has not seen: taken "
                f"as missing in {unseen.sum()} of {len(texts)} rows",
                TableWarning,
                stacklevel=4,
            )
        return np.asarray(codes, np.float64)


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model together with the columns of the table that it was fitted on.

    Made by ``neuralforest fit``, and what :func:`neuralforest.load` returns for its files.

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
        """Fit an estimator to all columns of a table but the target."""
        y = read_target(column_of(table, target), "classification" if is_classifier(estimator) else "regression")
        columns = tuple(Column.learn(table[name]) for name in table.columns if name != target)
        if not columns:
            raise TableError(
                f"the table must have columns beside the target {target!r}, got none: add what predicts it"
            )
        model = cls(columns, target, estimator)
        estimator.fit(model.encode(table), y)
        return model

    def encode(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return a table as the model takes it, (rows, columns); columns that it does not know are left out."""
        lacking = [column.name for column in self.columns if column.name not in table.columns]
        if lacking:
            raise TableError(
                f"the table must have the {len(self.columns)} columns that the model was fitted on, and lacks "
                f"{listed(lacking)}; it has {listed(table.columns)}: add or rename columns"
            )
        if not len(table):
            raise TableError("the table must have at least one row, got none: add rows below the names of the columns")
        return np.column_stack([column.encode(table[column.name]) for column in self.columns])

    def predict(self, table: "pandas.DataFrame") -> NDArray[Any]:
        """Predict the target for each row of a table."""
        return np.asarray(self.model.predict(self._rows(table)))

    def predict_proba(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        return np.asarray(self.model.predict_proba(self._rows(table)))

    def _rows(self, table: "pandas.DataFrame") -> Any:
        """Return the encoded table, with names where the model was fitted with names and asks for them."""
        import pandas

        names = getattr(self.model, "feature_names_in_", None)
        X = self.encode(table)
        return X if names is None else pandas.DataFrame(X, columns=names)


def column_of(table: "pandas.DataFrame", name: str) -> "pandas.Series":
    """Return a column, or say which ones there are."""
    if name not in table.columns:
        raise TableError(f"the table has no column {name!r}: choose one of {listed(table.columns, most=30)}")
    return table[name]


def guess_task(values: "pandas.Series") -> tuple[Task, str]:
    """Return the task that a target asks for, and why: texts and few whole numbers are classes."""
    numbers, wrong = _numbers(values)
    if values.dtype.kind == "b" or wrong.any():
        return "classification", "the target holds texts"
    known = np.unique(numbers[~np.isnan(numbers)])
    if (known != np.rint(known)).any():
        return "regression", "the target holds fractions"
    if len(known) <= MOST_CLASSES:
        return "classification", f"the target holds {len(known)} different whole numbers"
    return "regression", f"the target holds {len(known)} different whole numbers"


def read_target(values: "pandas.Series", task: Task) -> NDArray[Any]:
    """Return the target as an estimator takes it: numbers, or labels that are whole numbers, booleans or texts."""
    if not len(values):
        raise TableError("the table must have at least one row, got none: add rows below the names of the columns")
    _refuse(
        values, values.isna().to_numpy(), "is the target and must not miss values", "fill it in, or delete such rows"
    )
    numbers, wrong = _numbers(values)
    if task == "regression":
        _refuse(values, wrong, "must hold numbers for a regression", "correct it, or choose the task classification")
        _refuse(values, np.isinf(numbers), "must hold finite numbers", "correct it")
        return numbers
    labels = np.asarray(values) if values.dtype.kind == "b" else numbers
    if wrong.any():
        labels = np.array(_texts(values).tolist())
    elif values.dtype.kind != "b":
        fraction = ~(np.abs(numbers) < 2**53) | (numbers != np.rint(numbers))
        _refuse(values, fraction, "must hold texts or whole numbers to be classes", "choose the task regression")
        labels = numbers.astype(np.int64)
    if (labels == labels[0]).all():
        raise TableError(
            f"column {values.name!r} must hold at least two classes, got {labels[0]!s:.80} only: add other rows"
        )
    return labels


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Return names in quotes, the first few of them.

    Examples
    --------
    >>> listed("abc", most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [f"{str(name)!r:.60}" for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted) if rest <= 0 else f"{', '.join(quoted[:most])} and {rest} more"


def _numbers(values: "pandas.Series") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as numbers, NaN where there is none, and which of these NaN are not missing values."""
    import pandas

    if values.dtype.kind in "Mm":
        raise TableError(
            f"column {values.name!r} must hold numbers or texts, got dates or times: turn them into numbers, such as "
            "days, or leave the column out"
        )
    numbers = pandas.to_numeric(values, errors="coerce").astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return numbers, np.isnan(numbers) & values.notna().to_numpy()


def _texts(values: "pandas.Series") -> "pandas.Series":
    return values.map(lambda value: str(value).strip(), na_action="ignore").astype(object)


def _refuse(values: "pandas.Series", wrong: NDArray[np.bool_], rule: str, fix: str) -> None:
    """Raise an error that names the first wrong value, if there is one."""
    if wrong.any():
        first = int(np.argmax(wrong))
        value = values.iloc[first : first + 1].tolist()[0]
        many = f" and in {wrong.sum() - 1} more" if wrong.sum() > 1 else ""
        raise TableError(f"column {values.name!r} {rule}, got {value!r:.60} in row {values.index[first]}{many}: {fix}")
