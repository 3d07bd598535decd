"""The texts of a submission's headers, read beforehand so that the compiler opens no file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernels.compile import nvrtc
from kernels.source.headers import HEADERS, HeaderKind, header_text

# Conditions count too. A header's `__has_include` must find the same files as on disk, or the header changes.
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|if|elif)\b[^\n]*", re.MULTILINE)
_NAME = re.compile(r'[<"]([^<>"]+)[>"]')
# The bundle creates this file after it is unpacked completely.
_MARK = ".nvrtc_headers_version"


def header_folder(cache: Path) -> Path:
    """The folder below `cache` with the compiler's headers, unpacked at the first call.

    raise (NVRTCUnavailable): no compiler is installed.
    raise (OSError): `cache` isn't writable
    """
    folder = cache / f"cuda-headers-{nvrtc.installed_version()}"
    if not (folder / _MARK).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        nvrtc.install_headers(folder)
    return folder


def header_texts(source: str, cache: Path) -> Mapping[str, str]:
    """Texts by include name of every allowed header that `source` names, including nested headers.

    A name anywhere in the source counts. An extra text costs little, and no include is missed.
    """
    named = [name for name in HEADERS if name in source]
    texts = {name: header_text(name) for name in named if HEADERS[name] is HeaderKind.EMPTY}
    real = [name for name in named if HEADERS[name] is HeaderKind.REAL]
    if real:
        texts.update(_closure(real, header_folder(cache)))
    return texts


def _closure(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The named headers and all that they include, by the names in the includes.

    A header that Tilelab supplies is never taken from the bundle. The bundle has other files of such names in inner
    folders, and includes them for other compilers only. Two files with one include name in different folders would
    clash. The bundle has no such files, and a test compiles each header.
    """
    texts: dict[str, str] = {}
    waiting = [(name, folder) for name in names]
    while waiting:
        name, place = waiting.pop()
        if name in texts or HEADERS.get(name) is HeaderKind.EMPTY:
            continue
        if (path := _find(name, (place, folder, folder / "cccl"))) is not None:
            texts[name] = path.read_text(encoding="utf-8", errors="replace")
            waiting.extend((inner, path.parent) for inner in _included(texts[name]))
    return texts


def _included(text: str) -> Iterable[str]:
    return {name for line in _DIRECTIVE.findall(text) for name in _NAME.findall(line)}


def _find(name: str, places: Iterable[Path]) -> Path | None:
    """The first file of that name in these folders; None for a header missing in the bundle."""
    return next((path for place in places if (path := place / name).is_file()), None)
