"""A copy of the tree: a file is changed and tests run there, and nothing of it reaches the tree itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sysconfig import get_path

import pytest

from tests.mutants.kept import ROOT


class Tree:
    """The copy, with an environment of its own, so that programs of the tests import from the copy too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._python = folder / ".venv" / "bin" / "python"
        shutil.copytree(ROOT, folder, ignore=_left_out)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
        packages = Path(get_path("purelib", vars={"base": str(folder / ".venv")}))
        (packages / "tree.pth").write_text(f"{folder}\n{get_path('purelib')}\n")
        for program in Path(get_path("scripts")).iterdir():
            copy = self._python.with_name(program.name)
            if not copy.exists():
                shutil.copy(program, copy)
                copy.write_bytes(copy.read_bytes().replace(sys.executable.encode(), bytes(self._python)))

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """A file of the copy has this text, and afterwards its own."""
        file = self._folder / path
        file.write_text(text)
        try:
            yield
        finally:
            shutil.copy2(ROOT / path, file)

    def failure(self, tests: Sequence[str], seconds: float = 300) -> str:
        """The first test of the short suite that fails, or "" if all pass. Running longer is a failure, too."""
        options = ["-m", "not long", "-x", "-q", "-p", "no:cacheprovider"]
        command = [str(self._python), "-m", "pytest", *options, *tests]
        try:
            done = subprocess.run(
                command, cwd=self._folder, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"more than {seconds:.0f} s"
        if done.returncode in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
        return failed[0] if failed else (done.stdout + done.stderr)[-2000:]


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What tests do not need, environments and build/ among it."""
    top = {"build"} if Path(folder) == ROOT else set()
    return {name for name in names if name.startswith(".") or name in {"__pycache__", "node_modules"} | top}
