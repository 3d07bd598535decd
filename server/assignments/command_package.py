"""The package with which students install the command `tilelab` from the portal, without the server and solutions."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from kernels.exercise.wrong_kernels import FOLDER, RIGHT_FOLDER, TABLE

_DISTRIBUTION = distribution("tilelab")
_NAME = f"tilelab-{_DISTRIBUTION.version}"
FILE = f"{_NAME}-py3-none-any.whl"
_INFO = f"{_NAME}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: tilelab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_COMMAND = "[console_scripts]\ntilelab = worker.commands:main\n"
_SERVER = re.compile(r'^(?:Provides-Extra: server|.*extra == "server"|License-File: .*|Dynamic: .*)\n', re.MULTILINE)
_NO_SOLUTION = "// The solution isn't part of this package.\n"
_TELLING = frozenset({"ladder", "ladder.toml", FOLDER, RIGHT_FOLDER, TABLE})
_PACKAGES = ("kernels", "worker")
_ONE_TIME = (2026, 1, 1, 0, 0, 0)
"""In all files, so that the package changes only with its content."""


@cache
def package() -> bytes:
    """A wheel: the packages that the command needs, and what installers read."""
    content = {name: path.read_bytes() for root in _PACKAGES for name, path in _files(root)}
    content |= {name: _NO_SOLUTION.encode() for name in content if name.endswith("/solution.cu")}
    head = (_DISTRIBUTION.read_text("METADATA") or "").partition("\n\n")[0] + "\n"
    texts = {"METADATA": _SERVER.sub("", head), "WHEEL": _WHEEL, "entry_points.txt": _COMMAND}
    content |= {f"{_INFO}/{name}": text.encode() for name, text in texts.items()}
    record = "".join(f"{name},sha256={_digest(one)},{len(one)}\n" for name, one in content.items())
    content[f"{_INFO}/RECORD"] = f"{record}{_INFO}/RECORD,,\n".encode()
    made = io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, one in content.items():
            archive.writestr(ZipInfo(name, _ONE_TIME), one, ZIP_DEFLATED)
    return made.getvalue()


def _files(root: str) -> Iterator[tuple[str, Path]]:
    """A package's files with their names in the wheel."""
    folder = Path(str(files(root)))
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and not _solves(folder, parts):
            yield "/".join((folder.name, *parts)), path


def _solves(folder: Path, parts: tuple[str, ...]) -> bool:
    """Whether a file shows a solution, or belongs to an exercise that needs its solution to judge."""
    if parts[0] != "exercises" or len(parts) < 3:
        return False
    definition = (folder / parts[0] / parts[1] / "exercise.toml").read_text("utf-8")
    return parts[2] in _TELLING or 'operation = "solution"' in definition


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
