"""A file is replaced completely or not at all."""

import os
import stat
import threading

import numpy as np
import pytest

from neuralforest._atomic import write_atomically


def test_a_file_is_written_and_replaced(tmp_path):
    for parts in ([], [b"a", memoryview(b"bc")], [np.arange(3, dtype=np.uint8).data, b""]):
        write_atomically(str(tmp_path / "file"), iter(parts))
        assert (tmp_path / "file").read_bytes() == b"".join(parts)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch, function, error):
    write_atomically(tmp_path / "file", [b"old"])

    def fail(*_):
        raise error

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(error):
        write_atomically(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_in_the_content_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write_atomically(tmp_path / "file", (b"part" if number else 1 / 0 for number in (1, 0)))
    assert not os.listdir(tmp_path)


def test_the_content_and_the_name_are_flushed_to_disk(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_mode), fsync(file)))
    write_atomically(tmp_path / "file", [b"content"])
    assert [stat.S_ISDIR(mode) for mode in synced] == [False, True]


def test_a_link_is_followed_and_the_mode_is_the_default(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", [b"content"])
    assert (tmp_path / "link").is_symlink()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o666 & ~mask


def test_a_missing_folder_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", [b""])


def test_writes_at_the_same_time_leave_one_complete_file(tmp_path):
    contents = [bytes([number]) * 100_000 for number in range(4)]
    path = tmp_path / "file"
    write_atomically(path, contents[:1])
    threads = [
        threading.Thread(target=lambda content=content: [write_atomically(path, [content]) for _ in range(15)])
        for content in contents
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]
