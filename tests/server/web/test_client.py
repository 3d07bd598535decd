"""The scripts that a browser gets are what their sources give."""

from __future__ import annotations

from bin.client import BUILT, build


def test_the_committed_scripts_are_what_the_sources_give(tmp_path):
    build(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in BUILT.iterdir()
    }, "run `make client`"
