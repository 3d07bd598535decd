"""The texts of the headers a submission includes, read beforehand, so that the compiler itself opens no file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernels.compile import nvrtc
from kernels.source.headers import HEADERS, HeaderKind, header_text

# Conditions too: what a header asks `__has_include` for must be there as it would be on disk, or it takes another path.
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|if|elif)\b[^\n]*", re.MULTILINE)
_NAME = re.compile(r'[<"]([^<>"]+)[>"]')
# The bundle's own mark that it was unpacked completely.
_MARK = ".nvrtc_headers_version"


def header_folder(cache: Path) -> Path:
    """The folder below `cache` with the compiler's own headers, unpacked at the first call.

    raise (NVRTCUnavailable): where there is no compiler
    raise (OSError): where `cache` cannot be written
    """
    folder = cache / f"cuda-headers-{nvrtc.installed_version()}"
    if not (folder / _MARK).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        nvrtc.install_headers(folder)
    return folder


def header_texts(source: str, cache: Path) -> Mapping[str, str]:
    """Texts by include name of every allowed header that `source` names, with all that these include in turn.

    A name that stands anywhere in the source counts: a text too many costs little, and no include is missed.
    """
    named = [name for name in HEADERS if name in source]
    texts = {name: header_text(name) for name in named if HEADERS[name] is HeaderKind.EMPTY}
    real = [name for name in named if HEADERS[name] is HeaderKind.REAL]
    if real:
        texts.update(_closure(real, header_folder(cache)))
    return texts


def _closure(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The named headers and all they include, by the names as they are written in the includes.

    A name that Tilelab supplies itself is never taken from the bundle: what lies there under that name, in some inner
    folder, is another file. The bundle includes such a name for other compilers only.
    Two files written alike in different folders would clash; the bundle has none such, and a test compiles each header.
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
    """The first file of that name in these folders; None for a header that the bundle has not."""
    return next((path for place in places if (path := place / name).is_file()), None)
