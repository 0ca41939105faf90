"""Commands run in a folder with a table, through `main` or, where the process matters, through a real shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuralforest as nf
from neuralforest.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    from cli.samples import rows

    monkeypatch.chdir(tmp_path)
    rows().to_csv("trees.csv", index=False)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Runs a command; returns its standard output or, where it fails with code 1, its error of one line.

    Messages on standard error are in `run.messages`.
    """

    def run(*argv, fails=False):
        code = main([str(part) for part in argv])
        out, run.messages = capsys.readouterr()
        if not fails:
            assert code == 0, run.messages
            return out
        assert code == 1
        lines = run.messages.splitlines()
        assert lines[-1].startswith("neuralforest: error: ")
        assert not [line for line in lines if "Traceback" in line]
        return lines[-1].removeprefix("neuralforest: error: ")

    return run


@pytest.fixture
def shell(tmp_path):
    """Runs a script with `neuralforest` and `python` on its path; returns output, errors and exit code."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("neuralforest", "-m neuralforest")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(nf.__file__).parents[1]),
    }

    def shell(script):
        done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=300)
        return done.stdout, done.stderr, done.returncode

    return shell
