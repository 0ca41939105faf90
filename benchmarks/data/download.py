"""Files and tables over HTTP, as their sources provide them. Independent of the data sets."""

import http.client
import io
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
import zipfile
from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd
from sklearn.datasets import fetch_openml

from benchmarks.data.tables import DataError

Result = TypeVar("Result")

TIMEOUT = 60.0  # seconds without a byte
ATTEMPTS = 3
PAUSE = 1.0  # seconds before the second attempt; doubled before the third
OPENML = "www.openml.org"


class UnreachableError(DataError):
    """A host that does not answer."""

    def __init__(self, host: str, reason: object) -> None:
        super().__init__(f"{host} could not be reached ({reason})")
        self.host = host


def get(url: str) -> bytes:
    """Return the file at `url`."""
    request = urllib.request.Request(url, headers={"User-Agent": "neuralforest-benchmarks"})

    def read() -> bytes:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return response.read()

    return _retry(read, urllib.parse.urlsplit(url).netloc, url)


def get_text(url: str, names: list[str] | None = None, sep: str = ",", **options: Any) -> pd.DataFrame:
    """Return a delimited text file as strings; "?" and empty fields are missing. `names` where it has no header."""
    return read_text(get(url), names, sep, **options)


def read_text(content: bytes, names: list[str] | None = None, sep: str = ",", **options: Any) -> pd.DataFrame:
    """Like `get_text`, for the content of a file."""
    return pd.read_csv(
        io.BytesIO(content),
        sep=sep,
        names=names,
        header="infer" if names is None else None,
        dtype=str,
        keep_default_na=False,
        na_values=["", "?"],
        **options,
    )


def get_member(url: str, member: str) -> bytes:
    """Return one file of a ZIP archive, in any of its folders."""
    try:
        with zipfile.ZipFile(io.BytesIO(get(url))) as archive:
            inside = [name for name in archive.namelist() if name.rpartition("/")[2] == member]
            if not inside:
                raise DataError(f"{url} has no {member}, only {archive.namelist()}")
            return archive.read(inside[0])
    except zipfile.BadZipFile as error:
        raise DataError(f"{url} is not a ZIP archive: {error}") from error


def read_excel(content: bytes) -> list[pd.DataFrame]:
    """Return the sheets of a workbook, .xls or .xlsx, without empty rows and columns."""
    try:
        import openpyxl
        import xlrd
    except ImportError as error:
        raise DataError(f"reading Excel files needs openpyxl and xlrd: pip install '.[bench]' ({error})") from error
    if content.startswith(b"PK"):  # .xlsx is a ZIP archive
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = [[list(row) for row in sheet.values] for sheet in book.worksheets]
    else:
        old = xlrd.open_workbook(file_contents=content)
        sheets = [[sheet.row_values(row) for row in range(sheet.nrows)] for sheet in old.sheets()]
    frames = [pd.DataFrame(rows[1:], columns=rows[0], dtype=object) for rows in sheets if rows]
    return [frame.replace("", None).dropna(axis="columns", how="all").dropna(how="all") for frame in frames]


def get_openml(data_id: int) -> pd.DataFrame:
    """Return a data set of OpenML with all of its columns, in their order."""

    def read() -> pd.DataFrame:
        before = socket.getdefaulttimeout()
        socket.setdefaulttimeout(TIMEOUT)  # fetch_openml sets none
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # one for every retry
                # The slower parser: the other one errs in the last bit of some numbers, which changes the digest.
                return fetch_openml(
                    data_id=data_id, target_column=None, as_frame=True, parser="liac-arff", cache=False
                ).frame
        finally:
            socket.setdefaulttimeout(before)

    return _retry(read, OPENML, f"data set {data_id}", attempts=1)


def _retry(read: Callable[[], Result], host: str, what: str, attempts: int = ATTEMPTS) -> Result:
    """Call `read`, retry after transient failures, and turn its errors into a DataError."""
    for attempt in range(1, attempts + 1):
        try:
            return read()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or attempt == attempts:
                raise DataError(f"{host} answered {error.code} ({error.reason}) for {what}") from error
        except (OSError, http.client.HTTPException) as error:
            if attempt == attempts:
                raise UnreachableError(host, getattr(error, "reason", error)) from error
        time.sleep(PAUSE * 2 ** (attempt - 1))
    raise AssertionError("the last attempt returns or raises")
