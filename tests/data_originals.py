"""The original files of the public sources, rebuilt from our tables: with their names and with the dropped columns.

The formats are those of the archives: separators, headers, missing values, extra columns and rows, workbooks, ARFF.
"""

import hashlib
import io
import json
import struct
import zipfile

import pandas as pd
import pytest

UCI = "archive.ics.uci.edu/ml/machine-learning-databases/"
OPENML = "www.openml.org/"
REGRESSION = (
    "abalone airfoil ames_housing bike_hour california_housing cpu_act energy_heating insurance kin8nm power_plant "
    "stock wine_red yacht"
)


def table(folder, path):
    return pd.read_csv(folder / f"{path}.csv", dtype=str, keep_default_na=False)


def text(frame, sep=",", header=False, **options):
    return frame.to_csv(index=False, sep=sep, header=header, lineterminator="\n", **options).encode()


def spaced(frame, between="   "):
    """Columns separated by several blanks, with leading and trailing ones."""
    return "".join(f" {between.join(row)} \n" for row in frame.itertuples(index=False)).encode()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Readme.txt", "about")
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return buffer.getvalue()


def xlsx(*sheets):
    """A workbook with an empty last row and column in each sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for frame in sheets:
        sheet = book.create_sheet()
        sheet.append([*frame.columns, None])
        for row in frame.astype(float).itertuples(index=False):
            sheet.append([*row, None])
        sheet.cell(row=len(frame) + 2, column=1, value="")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xls(frame):
    """A workbook of BIFF version 2, the simplest .xls format: labels, then numbers."""

    def record(kind, body):
        return struct.pack("<HH", kind, len(body)) + body

    parts = [record(0x0009, struct.pack("<HH", 7, 0x10))]
    for column, name in enumerate(frame.columns):
        parts.append(record(0x0004, struct.pack("<HH3xB", 0, column, len(name)) + name.encode()))
    for i, row in enumerate(frame.astype(float).itertuples(index=False), 1):
        parts.extend(record(0x0003, struct.pack("<HH3xd", i, column, value)) for column, value in enumerate(row))
    return b"".join([*parts, record(0x000A, b"")])


def openml(data_id, frame, nominal=()):
    """Return the four documents of a data set of OpenML."""
    lines = [f"@RELATION set{data_id}"]
    for name in frame.columns:
        kind = "{" + ",".join(sorted(set(frame[name]))) + "}" if name in nominal else "NUMERIC"
        lines.append(f"@ATTRIBUTE '{name}' {kind}")
    arff = "\n".join([*lines, "@DATA", ""]).encode() + text(frame)
    location = f"data/v1/download/{data_id}/set.arff"
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "nominal" if name in nominal else "numeric",
            "is_target": "true" if index == frame.shape[1] - 1 else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, name in enumerate(frame.columns)
    ]
    description = {
        "id": str(data_id),
        "name": f"set{data_id}",
        "version": "1",
        "description": "",
        "format": "ARFF",
        "status": "active",
        "url": f"https://{OPENML}{location}",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": str(float(len(frame)))}]
    files = {OPENML + location: arff}
    for host in ("www.openml.org", "api.openml.org"):  # depends on the version of scikit-learn
        api = f"{host}/api/v1/json/data"
        files[f"{api}/{data_id}"] = json.dumps({"data_set_description": description}).encode()
        files[f"{api}/features/{data_id}"] = json.dumps({"data_features": {"feature": features}}).encode()
        files[f"{api}/qualities/{data_id}"] = json.dumps({"data_qualities": {"quality": qualities}}).encode()
    return files


def paper(folder):
    cars = table(folder, "paper/variants/auto_mpg_398_horsepower_blank").replace("", "?")
    cars = pd.concat([cars["target"], cars.drop(columns="target")], axis=1)
    cars["name"] = '"ford galaxie 500"'
    fires = table(folder, "paper/forest_fires").rename(columns={"target": "area"})
    fires.insert(2, "month", "mar")
    fires.insert(3, "day", "fri")
    tumours = table(folder, "paper/wisconsin")
    tumours.insert(0, "time", tumours.pop("target"))
    tumours.insert(0, "outcome", "N")
    tumours.insert(0, "id", "119513")
    tumours = pd.concat([tumours[:6], tumours[:1].assign(lymph_node_status="?"), tumours[6:]])
    concrete = table(folder, "paper/concrete").rename(columns={"target": "Concrete compressive strength(MPa) "})
    protein = table(folder, "paper/protein")
    protein.insert(0, "RMSD", protein.pop("target"))
    return {
        UCI + "auto-mpg/auto-mpg.data": spaced(cars),
        UCI + "housing/housing.data": spaced(table(folder, "paper/housing"), "  "),
        UCI + "forest-fires/forestfires.csv": text(fires, header=True),
        UCI + "breast-cancer-wisconsin/wpbc.data": text(tumours),
        UCI + "concrete/compressive/Concrete_Data.xls": xls(concrete),
        UCI + "00265/CASP.csv": text(protein, header=True),
        **crime(folder),
    }


def crime(folder):
    frame = table(folder, "paper/crime").rename(columns={"target": "ViolentCrimesPerPop"})
    frame.insert(1, "county", "?")
    frame.insert(2, "community", ["?", *["5"] * (len(frame) - 1)])
    frame.insert(3, "communityname", "Lakewoodcity")
    frame.insert(100, "LemasSwornFT", ["0.03", *["?"] * (len(frame) - 1)])
    described = "Title: Communities and Crime\n\n" + "".join(f"@attribute {name} numeric\n" for name in frame.columns)
    return {
        UCI + "communities/communities.data": text(frame),
        UCI + "communities/communities.names": described.encode(),
    }


def regression(folder):
    read = {name: table(folder, f"regression/{name}") for name in REGRESSION.split()}
    ames = read["ames_housing"].replace("Absent", "None")
    ames.insert(71, "Sale_Price", ames.pop("target"))
    ames.insert(0, "rownames", range(1, len(ames) + 1))
    bike = read["bike_hour"].rename(columns={"target": "cnt"})
    bike.insert(0, "instant", "1")
    bike.insert(1, "dteday", "2011-01-01")
    bike.insert(14, "casual", "3")
    bike.insert(15, "registered", "13")
    energy = read["energy_heating"].set_axis([*(f"X{j}" for j in range(1, 9)), "Y1"], axis=1).assign(Y2="20")
    plant = read["power_plant"].rename(columns={"target": "PE"})
    wine = read["wine_red"].rename(columns=lambda name: {"target": "quality"}.get(name, name).replace("_", " "))
    return {
        UCI + "abalone/abalone.data": text(read["abalone"]),
        UCI + "00291/airfoil_self_noise.dat": text(read["airfoil"], sep="\t"),
        UCI + "00275/Bike-Sharing-Dataset.zip": zipped(day_dot_csv=b"", hour_dot_csv=text(bike, header=True)),
        UCI + "00242/ENB2012_data.xlsx": xlsx(energy),
        UCI + "00294/CCPP.zip": zipped(CCPP__Folds5x2_pp_dot_xlsx=xlsx(plant[::-1], plant)),
        UCI + "wine-quality/winequality-red.csv": text(wine, sep=";", header=True),
        UCI + "00243/yacht_hydrodynamics.data": spaced(read["yacht"], "  "),
        "vincentarelbundock.github.io/Rdatasets/csv/modeldata/ames.csv": text(ames, header=True),
        "raw.githubusercontent.com/stedy/Machine-Learning-with-R-datasets/master/insurance.csv": text(
            read["insurance"].rename(columns={"target": "charges"}), header=True
        ),
        **openml(189, read["kin8nm"].rename(columns={"target": "y"})),
        **openml(223, read["stock"].rename(columns={"target": "company10"})),
        **openml(537, houses(read["california_housing"])),
        **openml(197, read["cpu_act"][::-1].rename(columns={"target": "usr"})),
        **openml(573, read["cpu_act"].rename(columns={"target": "usr"})),
    }


def houses(frame):
    """Return the columns with the names and in the order of OpenML's "houses"."""
    theirs = {
        "median_house_value": "target",
        "median_income": "medianIncome",
        "housing_median_age": "housingMedianAge",
        "total_rooms": "totalRooms",
        "total_bedrooms": "totalBedrooms",
        "population": "population",
        "households": "households",
        "latitude": "latitude",
        "longitude": "longitude",
    }
    return frame[list(theirs.values())].set_axis(list(theirs), axis=1)


def classification(folder):
    read = {
        name: table(folder, f"classification/{name}")
        for name in ("adult", "german_credit", "phoneme", "satimage", "segment", "spambase", "vehicle")
    }
    adult = read["adult"]
    unknown = adult[:2].assign(workclass="?")
    first, second = pd.concat([adult[:30162], unknown]), pd.concat([unknown, adult[30162:]])
    second = second.assign(target=second["target"] + ".")
    spam = read["spambase"]
    described = "| SPAM E-MAIL DATABASE\n1, 0.    | spam, non-spam classes\n\n"
    described += "".join(f"{name}:         continuous.\n" for name in spam.columns[:-1])
    comma = ", "
    return {
        UCI + "adult/adult.data": text(first).replace(b",", comma.encode()) + b"\n",
        UCI + "adult/adult.test": b"|1x3 Cross validator\n" + text(second).replace(b",", comma.encode()) + b"\n",
        UCI + "statlog/german/german.data": text(read["german_credit"], sep=" "),
        UCI + "statlog/satimage/sat.trn": spaced(read["satimage"][:4435], " "),
        UCI + "statlog/satimage/sat.tst": spaced(read["satimage"][4435:], " "),
        UCI + "spambase/spambase.data": text(spam),
        UCI + "spambase/spambase.names": described.encode(),
        "raw.githubusercontent.com/jbrownlee/Datasets/master/phoneme.csv": text(read["phoneme"]),
        **openml(36, read["segment"].rename(columns={"target": "class"}), nominal=["class"]),
        **openml(54, read["vehicle"].rename(columns={"target": "Class"}), nominal=["Class"]),
    }


def everything(folder):
    """Return all files of all sources by address."""
    return {**paper(folder), **regression(folder), **classification(folder)}
