"""Saving files of agents under safe names."""

from __future__ import annotations

import resource

import pytest
from a2a_adapters_client.files import save

from a2a_adapters import File
from a2a_adapters.contract.errors import ConfigurationError


def saved(folder, *names):
    files = [File(content=b"x", media_type="text/plain", filename=name) for name in names]
    return [path.name for path in save(files, folder)]


def test_names_are_sanitised_and_shortened(tmp_path):
    names = saved(
        tmp_path,
        "a\nb\x1b[2J\u202e.txt",
        "n" * 5000 + ".txt",
        "ü" * 300,
        "x." + "y" * 300,
        "../.z",
        "-rf",
        "--help.txt",
        " - .txt",
        "a. ",
        " ",
        "",
    )
    assert names[0] == "ab[2J.txt"
    assert names[1].endswith("nn.txt")
    assert names[-7:] == ["z", "rf", "help.txt", "txt", "a", "file.txt", "file-2.txt"]
    assert all(len(name.encode()) < 255 and name.isprintable() for name in names)
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_a_used_name_gets_a_number(tmp_path):
    assert saved(tmp_path, "a.txt", "a.txt", "a.txt") == ["a.txt", "a-2.txt", "a-3.txt"]


def test_symlinks_are_not_followed(tmp_path):
    away, folder = tmp_path / "away", tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").symlink_to(away)
    assert saved(folder, "a.txt") == ["a-2.txt"]
    assert not away.exists()


def test_an_unwritable_file_does_not_stop_the_others(tmp_path):
    files = [File(content=b"x" * 200, filename="a.txt"), File(content=b"x", filename="b.txt")]
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    try:
        with pytest.raises(ConfigurationError, match="File too large"):
            list(save(files, tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
    assert (tmp_path / "b.txt").read_bytes() == b"x"
