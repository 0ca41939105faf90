"""The source of each data set, and how its original file is prepared: which rows and columns, in which order.

A data set may have several sources; `python -m benchmarks.data` uses the first whose table passes the check.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes

from benchmarks.data.download import OPENML, get, get_member, get_openml, get_text, read_excel, read_text
from benchmarks.data.tables import DataError

UCI = "archive.ics.uci.edu"
GITHUB = "raw.githubusercontent.com"
RDATASETS = "vincentarelbundock.github.io"
BUNDLED = "scikit-learn"  # comes with the library; no download

SPACES = r"\s+"


class Source(NamedTuple):
    """One place to download a data set from."""

    host: str
    read: Callable[[], pd.DataFrame]
    floats: tuple[str, ...] | None = ()  # integer columns that are written as 1.0; None for all columns


def _uci(path: str) -> str:
    return f"https://{UCI}/ml/machine-learning-databases/{path}"


def _finish(
    frame: pd.DataFrame, target: str, drop: Iterable[str] = (), features: Iterable[str] | None = None
) -> pd.DataFrame:
    """Drop columns and move the target to the end as `target`; `features` renames the others, in their order."""
    rest = frame.drop(columns=[target, *drop])
    if features is not None:
        names = list(features)
        if len(names) != rest.shape[1]:
            raise DataError(f"expected {len(names)} features, got {rest.shape[1]}: {list(rest.columns)[:5]}...")
        rest.columns = names
    return rest.assign(target=frame[target]).reset_index(drop=True)


def _columns(names: str) -> list[str]:
    return names.split()


# The seven data sets of the paper's table -----------------------------------------------------------------------------

MOMENTS = _columns(
    "radius texture perimeter area smoothness compactness concavity concave_points symmetry fractal_dimension"
)
CONCRETE = "cement blast_furnace_slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age"
HOUSING = "crim zn indus chas nox rm age dis rad tax ptratio b lstat"


def _cars() -> pd.DataFrame:
    names = "target cylinders displacement horsepower weight acceleration model_year origin name"
    return _finish(get_text(_uci("auto-mpg/auto-mpg.data"), _columns(names), SPACES), "target", drop=["name"])


def _cars_zeroed() -> pd.DataFrame:
    """Six cars without horsepower become rows of zeros, target included: as in the authors' loader."""
    cars = _cars()
    cars.loc[cars["horsepower"].isna()] = "0"
    return cars


def _housing() -> pd.DataFrame:
    return get_text(_uci("housing/housing.data"), [*_columns(HOUSING), "target"], SPACES)


def _housing_openml() -> pd.DataFrame:
    return _finish(get_openml(531), "MEDV", features=_columns(HOUSING))


def _crime() -> pd.DataFrame:
    """Without names and without columns with missing values; the identifiers `state` and `fold` are kept."""
    names = re.findall(r"^@attribute (\S+)", get(_uci("communities/communities.names")).decode("latin-1"), re.MULTILINE)
    frame = get_text(_uci("communities/communities.data"), names).drop(columns="communityname")
    return _finish(frame.dropna(axis="columns"), "ViolentCrimesPerPop")


def _forest_fires() -> pd.DataFrame:
    return _finish(get_text(_uci("forest-fires/forestfires.csv")), "area", drop=["month", "day"])


def _wisconsin() -> pd.DataFrame:
    measures = [f"{moment}_{kind}" for kind in ("mean", "se", "worst") for moment in MOMENTS]
    names = ["id", "outcome", "time", *measures, "tumor_size", "lymph_node_status"]
    frame = get_text(_uci("breast-cancer-wisconsin/wpbc.data"), names)
    return _finish(frame.dropna(), "time", drop=["id", "outcome"])


def _concrete() -> pd.DataFrame:
    frame = read_excel(get(_uci("concrete/compressive/Concrete_Data.xls")))[0]
    return _finish(frame, frame.columns[-1], features=_columns(CONCRETE))


def _protein() -> pd.DataFrame:
    return _finish(get_text(_uci("00265/CASP.csv")), "RMSD")


# Regression -----------------------------------------------------------------------------------------------------------

ABALONE = "sex length diameter height whole_weight shucked_weight viscera_weight shell_weight target"
AIRFOIL = "frequency angle_of_attack chord_length free_stream_velocity suction_side_displacement_thickness target"
ENERGY = (
    "relative_compactness surface_area wall_area roof_area overall_height orientation glazing_area "
    "glazing_area_distribution"
)
CALIFORNIA = {
    "longitude": "longitude",
    "latitude": "latitude",
    "housing_median_age": "housingMedianAge",
    "total_rooms": "totalRooms",
    "total_bedrooms": "totalBedrooms",
    "population": "population",
    "households": "households",
    "median_income": "medianIncome",
    "median_house_value": "target",
}
YACHT = (
    "longitudinal_position prismatic_coefficient length_displacement_ratio beam_draught_ratio length_beam_ratio "
    "froude_number target"
)


def _abalone() -> pd.DataFrame:
    return get_text(_uci("abalone/abalone.data"), _columns(ABALONE))


def _airfoil() -> pd.DataFrame:
    return get_text(_uci("00291/airfoil_self_noise.dat"), _columns(AIRFOIL), SPACES)


def _ames() -> pd.DataFrame:
    """The version of the R package modeldata. "None" would be read as missing, so it is renamed to "Absent"."""
    frame = get_text(f"https://{RDATASETS}/Rdatasets/csv/modeldata/ames.csv").replace("None", "Absent")
    return _finish(frame.drop(columns=frame.columns[0]), "Sale_Price")


def _bike() -> pd.DataFrame:
    frame = read_text(get_member(_uci("00275/Bike-Sharing-Dataset.zip"), "hour.csv"))
    return _finish(frame, "cnt", drop=["instant", "dteday", "casual", "registered"])


def _california() -> pd.DataFrame:
    return get_openml(537).rename(columns=CALIFORNIA)[list(CALIFORNIA.values())]


def _diabetes() -> pd.DataFrame:
    return load_diabetes(as_frame=True, scaled=False).frame


def _energy() -> pd.DataFrame:
    frame = read_excel(get(_uci("00242/ENB2012_data.xlsx")))[0]
    return _finish(frame, "Y1", drop=["Y2"], features=_columns(ENERGY))


def _insurance() -> pd.DataFrame:
    url = f"https://{GITHUB}/stedy/Machine-Learning-with-R-datasets/master/insurance.csv"
    return _finish(get_text(url), "charges")


def _power_plant() -> pd.DataFrame:
    """The workbook has five permutations of the same rows; ours is the one that starts at 8.34 degrees."""
    for sheet in read_excel(get_member(_uci("00294/CCPP.zip"), "Folds5x2_pp.xlsx")):
        if (float(sheet["AT"].iloc[0]), float(sheet["PE"].iloc[0])) == (8.34, 480.48):
            return _finish(sheet, "PE")
    raise DataError("none of the sheets of Folds5x2_pp.xlsx begins with AT = 8.34 and PE = 480.48")


def _wine() -> pd.DataFrame:
    frame = get_text(_uci("wine-quality/winequality-red.csv"), sep=";")
    return _finish(frame.rename(columns=lambda name: name.replace(" ", "_")), "quality")


def _yacht() -> pd.DataFrame:
    return get_text(_uci("00243/yacht_hydrodynamics.data"), _columns(YACHT), SPACES)


def _openml_last(data_id: int) -> Source:
    """Return an OpenML source whose last column is the target."""

    def read() -> pd.DataFrame:
        frame = get_openml(data_id)
        return _finish(frame, frame.columns[-1])

    return Source(OPENML, read)


# Classification -------------------------------------------------------------------------------------------------------

ADULT = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain "
    "capital_loss hours_per_week native_country target"
)
GERMAN = (
    "checking_status duration credit_history purpose credit_amount savings employment installment_rate "
    "personal_status_sex other_debtors residence_since property age other_installment_plans housing existing_credits "
    "job num_dependents telephone foreign_worker target"
)


def _adult() -> pd.DataFrame:
    """Training file, then test file, without rows that have missing values."""
    train = get_text(_uci("adult/adult.data"), _columns(ADULT), skipinitialspace=True)
    test = get_text(_uci("adult/adult.test"), _columns(ADULT), skipinitialspace=True, skiprows=1)
    frame = pd.concat([train, test.assign(target=test["target"].str.rstrip("."))])
    return frame.dropna().reset_index(drop=True)


def _breast_cancer() -> pd.DataFrame:
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.rename(columns=lambda name: name.replace(" ", "_"))
    return frame.assign(target=bunch.target_names[bunch.target.to_numpy()])


def _german_credit() -> pd.DataFrame:
    return get_text(_uci("statlog/german/german.data"), _columns(GERMAN), SPACES)


def _phoneme() -> pd.DataFrame:
    url = f"https://{GITHUB}/jbrownlee/Datasets/master/phoneme.csv"
    return get_text(url, [*(f"x{j}" for j in range(1, 6)), "target"])


def _satimage() -> pd.DataFrame:
    names = [*(f"x{j}" for j in range(1, 37)), "target"]
    parts = [get_text(_uci(f"statlog/satimage/sat.{part}"), names, SPACES) for part in ("trn", "tst")]
    return pd.concat(parts, ignore_index=True)


def _spambase() -> pd.DataFrame:
    described = get(_uci("spambase/spambase.names")).decode("latin-1")
    names = re.findall(r"^((?:word_freq|char_freq|capital_run_length)_\S+):", described, re.MULTILINE)
    return get_text(_uci("spambase/spambase.data"), [*names, "target"])


SOURCES: dict[str, tuple[Source, ...]] = {
    "auto_mpg": (Source(UCI, lambda: _cars().dropna(), floats=None),),
    "auto_mpg_398_horsepower_blank": (Source(UCI, _cars, floats=None),),
    "auto_mpg_398_authors_loader_zero_rows": (Source(UCI, _cars_zeroed, floats=None),),
    "housing": (Source(UCI, _housing, floats=None), Source(OPENML, _housing_openml, floats=None)),
    "crime": (Source(UCI, _crime),),
    "forest_fires": (Source(UCI, _forest_fires),),
    "wisconsin": (Source(UCI, _wisconsin, floats=("lymph_node_status",)),),
    "concrete": (Source(UCI, _concrete),),
    "protein": (Source(UCI, _protein),),
    "abalone": (Source(UCI, _abalone),),
    "airfoil": (Source(UCI, _airfoil),),
    "ames_housing": (Source(RDATASETS, _ames),),
    "bike_hour": (Source(UCI, _bike),),
    "california_housing": (Source(OPENML, _california, floats=None),),
    "cpu_act": (_openml_last(197), _openml_last(573)),
    "diabetes": (Source(BUNDLED, _diabetes, floats=None),),
    "energy_heating": (Source(UCI, _energy, floats=None),),
    "insurance": (Source(GITHUB, _insurance),),
    "kin8nm": (_openml_last(189),),
    "power_plant": (Source(UCI, _power_plant),),
    "stock": (_openml_last(223),),
    "wine_red": (Source(UCI, _wine),),
    "yacht": (Source(UCI, _yacht),),
    "adult": (Source(UCI, _adult),),
    "breast_cancer_wdbc": (Source(BUNDLED, _breast_cancer),),
    "german_credit": (Source(UCI, _german_credit),),
    "phoneme": (Source(GITHUB, _phoneme),),
    "satimage": (Source(UCI, _satimage),),
    "segment": (_openml_last(36),),
    "spambase": (Source(UCI, _spambase),),
    "vehicle": (_openml_last(54),),
}
