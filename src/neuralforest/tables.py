"""Data frames with the columns of a model, found by their names, and the target column.

The estimators encode categories themselves. Models without an encoder take codes: networks of other libraries' models,
and estimators in files of formats 1 to 7. pandas is imported on use. Files and the command line are in `cli`.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from neuralforest.estimators.rows import read_X
from neuralforest.exceptions import TableError, TableWarning

if TYPE_CHECKING:
    import pandas

Task = Literal["classification", "regression"]

MAX_CLASSES = 10
"""An integer target with at most this many distinct values is a classification target."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Column:
    """A column of the table that a model was fitted on.

    Parameters
    ----------
    name : str
    categories : tuple of str, optional
        In the order of their codes; None for a numeric column.
    """

    name: str
    categories: tuple[str, ...] | None = None

    def read(self, values: "pandas.Series") -> Any:
        """Return the column as numbers, or as strings; new categories are reported."""
        if self.categories is None:
            numbers, wrong = to_numbers(values)
            refuse(values, wrong, "must hold numbers", "correct it, or leave it empty where the value is missing")
            refuse(values, np.abs(numbers) > _LARGEST, f"must hold numbers below {_LARGEST:.2g}", "correct it")
            return numbers
        strings = to_strings(values)
        unknown = strings.notna() & ~strings.isin(self.categories)
        if unknown.any():  # whole numbers may be written with a fraction
            strings = strings.where(~unknown, strings.map(_without_fraction, na_action="ignore"))
            unknown = strings.notna() & ~strings.isin(self.categories)
        if unknown.any():
            warnings.warn(
                f"column {self.name!r} holds categories that the model was not fitted on, in {unknown.sum()} of "
                f"{len(strings)} rows: {listed(sorted(set(strings[unknown])))}",
                TableWarning,
                stacklevel=4,
            )
        return strings

    def encode(self, strings: "pandas.Series", new: float) -> NDArray[np.float64]:
        """Return the codes of categories, `new` for others, and NaN for missing values."""
        codes = strings.map({category: float(code) for code, category in enumerate(self.categories or ())})
        return np.asarray(codes.where(codes.notna() | strings.isna(), new), np.float64)


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
        features = table.drop(columns=target)
        if not len(features.columns):
            raise TableError(f"the table must have other columns than the target {target!r}, got none: add features")
        return cls.of(estimator.fit(features, y), features.columns, target)

    @classmethod
    def of(cls, model: Any, names: Iterable[Any], target: str | None = None) -> "TableModel":
        """Return a model with its columns, which have these names if it has none of its own."""
        e = getattr(model, "network_", model).ensemble
        names, own = list(names), getattr(model, "feature_names_in_", e.feature_names)
        if own is not None and (set(own) <= set(names) or not _are_numbers(own)):
            known = {str(name).replace(" ", "_"): name for name in names}  # LightGBM has no spaces in names
            names = [name if name in names else known.get(name, name) for name in own]
        if len(names) != e.n_features:
            raise TableError(
                f"the model has no feature names, so the table must have its {e.n_features} columns in order, got "
                f"{len(names)}: {listed(names)}: drop the others"
            )
        encoder, categories = getattr(model, "_encoder", None), e.categories or (None,) * len(names)
        if encoder is not None:
            categories = [column.categories for column in encoder.columns]
        columns = [
            Column(str(name), None if labels is None else tuple(map(_as_string, labels.tolist())))
            for name, labels in zip(names, categories, strict=True)
        ]
        return cls(tuple(columns), target, model)

    def encode(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return a table as numbers, as the network takes it, (rows, columns)."""
        rows = self.rows(table)
        return np.asarray(read_X(self.model, rows, reset=False) if hasattr(self.model, "network_") else rows)

    def predict(self, table: "pandas.DataFrame") -> NDArray[Any]:
        """Predict the target of each row of a table; columns that the model does not have are ignored."""
        return np.asarray(self.model.predict(self.rows(table)))

    def predict_proba(self, table: "pandas.DataFrame") -> NDArray[np.float64]:
        """Return class probabilities, (rows, classes)."""
        return np.asarray(self.model.predict_proba(self.rows(table)))

    def rows(self, table: "pandas.DataFrame") -> Any:
        """Return a table as the model takes it: a data frame if it was fitted with feature names, else an array."""
        import pandas

        lacking = [column.name for column in self.columns if column.name not in table.columns]
        if lacking:
            raise TableError(
                f"the table must have the {len(self.columns)} columns that the model was fitted on, and lacks "
                f"{listed(lacking)}; it has {listed(table.columns)}: add or rename columns"
            )
        if not len(table):
            raise TableError("the table must have at least one row, got none: add rows below the column names")
        values = {column.name: column.read(table[column.name]) for column in self.columns}
        if getattr(self.model, "_encoder", None) is None:
            e = getattr(self.model, "network_", self.model).ensemble
            new = np.nan if e.categories is None else -1.0  # before format 8, new categories were missing values
            for column in self.columns:
                if column.categories is not None:
                    values[column.name] = column.encode(values[column.name], new)
        rows = pandas.DataFrame(values)
        return rows if hasattr(self.model, "feature_names_in_") else rows.to_numpy()


def column_of(table: "pandas.DataFrame", name: str) -> "pandas.Series":
    """Return a column; a name that does not exist is an error that lists those that do."""
    if name not in table.columns:
        raise TableError(f"the table has no column {name!r}: choose one of {listed(table.columns, most=30)}")
    return table[name]


def guess_task(values: "pandas.Series") -> tuple[Task, str]:
    """Return the task that a target implies, and the reason: strings and few distinct integers are classes."""
    numbers, not_numeric = to_numbers(values)
    if values.dtype.kind == "b" or not_numeric.any():
        return "classification", f"the target holds {'booleans' if values.dtype.kind == 'b' else 'strings'}"
    known = np.unique(numbers[~np.isnan(numbers)])
    if (known != np.rint(known)).any():
        return "regression", "the target holds fractions"
    task: Task = "classification" if len(known) <= MAX_CLASSES else "regression"
    return task, f"the target holds {len(known)} distinct integers"


def read_target(values: "pandas.Series", task: Task) -> NDArray[Any]:
    """Return the target as an estimator takes it: numbers, or labels that are integers, booleans or strings."""
    if not len(values):
        raise TableError("the table must have at least one row, got none: add rows below the column names")
    refuse(values, values.isna().to_numpy(), "is the target and must not have missing values", "fill or drop such rows")
    numbers, not_numeric = to_numbers(values)
    if task == "regression":
        refuse(values, not_numeric, "must hold numbers for regression", "correct it, or choose the task classification")
        refuse(values, np.isinf(numbers), "must hold finite numbers", "correct it")
        return numbers
    if not_numeric.any():
        labels = np.array(to_strings(values).tolist())
    elif values.dtype.kind == "b":
        labels = np.asarray(values)
    else:
        fraction = ~(np.abs(numbers) < 2**53) | (numbers != np.rint(numbers))
        refuse(values, fraction, "must hold strings or integers for classification", "choose the task regression")
        labels = numbers.astype(np.int64)
    if (labels == labels[0]).all():
        raise TableError(
            f"column {values.name!r} must hold at least two classes, got only {labels[0]!s:.80}: add rows of another"
        )
    return labels


def to_numbers(values: "pandas.Series") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as numbers, with NaN where a value is missing or not numeric, and a mask of the latter."""
    import pandas

    if values.dtype.kind in "Mm":
        raise TableError(
            f"column {values.name!r} must hold numbers or strings, got dates or times: convert them to numbers, such "
            "as days, or drop the column"
        )
    numbers = pandas.to_numeric(values, errors="coerce").astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return numbers, np.isnan(numbers) & values.notna().to_numpy()


def to_strings(values: "pandas.Series") -> "pandas.Series":
    """Return a column as strings without surrounding whitespace; missing values stay missing."""
    return values.map(_as_string, na_action="ignore").astype(object)


def _as_string(value: Any) -> str:
    """Return a label as a string, a whole number without a fraction."""
    return str(int(value) if isinstance(value, (float, np.floating)) and value.is_integer() else value).strip()


def _are_numbers(names: Iterable[Any]) -> bool:
    """Return whether names are those that LightGBM and CatBoost give to columns without names."""
    return all(name in (f"Column_{number}", str(number)) for number, name in enumerate(names))


def _without_fraction(text: str) -> str:
    """Return a whole number without a fraction, and any other string as it is."""
    try:
        return _as_string(float(text))
    except ValueError:
        return text


def refuse(values: "pandas.Series", wrong: NDArray[np.bool_], rule: str, fix: str) -> None:
    """Raise an error that names the first wrong value, if there is one."""
    if wrong.any():
        first = int(np.argmax(wrong))
        value = values.iloc[first : first + 1].tolist()[0]
        more = f" and in {wrong.sum() - 1} more" if wrong.sum() > 1 else ""
        raise TableError(f"column {values.name!r} {rule}, got {value!r:.60} in row {values.index[first]}{more}: {fix}")


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
