from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worker.commands.root import WrongUse

if TYPE_CHECKING:
    from kernels.experiment.quantities import Quantity
    from kernels.experiment.result import PointResult
    from worker.experiment.folder import Folder
    from worker.experiment.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Opened:
    """An experiment's folder, with what is in it."""

    folder: Folder
    manifest: Manifest
    results: list[PointResult]


def opened(path: Path) -> Opened:
    """The manifest and the results of a folder, or of a cache file of Kernel Tuner."""
    from worker.experiment.folder import Folder, FolderError

    folder = Folder(path)
    try:
        if path.is_file():
            return opened_cache(path)
        found = Opened(folder, folder.manifest(), folder.results())
    except FolderError as error:
        raise WrongUse(str(error)) from error
    except OSError as error:
        raise WrongUse(f"{path} can't be read: {error.strerror}.") from error
    except RecursionError as error:
        raise WrongUse(f"{path} can't be read: its JSON is nested too deeply.") from error
    _check(found)
    gc.freeze()  # the results stay until the command ends, and each search for cycles would visit them
    return found


def _check(found: Opened) -> None:
    """Refuse a folder whose manifest or points another program changed."""
    from kernels.experiment.plot.model import Request

    manifest = found.folder.path / "manifest.json"
    head = found.manifest.definition.get("experiment")
    if not isinstance(head, dict) or not isinstance(head.get("name"), str):
        raise WrongUse(f"{manifest} can't be read: definition.experiment.name: a text is needed.")
    try:
        Request.from_plain(found.manifest.definition.get("plot"))
    except (ValueError, AttributeError, TypeError) as error:
        raise WrongUse(f"{manifest} can't be read: definition.plot isn't a plot.") from error
    for result in found.results:
        if result.params.keys() != found.results[0].params.keys():
            first = found.results[0].number
            raise WrongUse(f"{found.folder.path}: point {result.number} has other axes than point {first}.")


def opened_cache(path: Path) -> Opened:
    """The results in a cache file of Kernel Tuner, with a manifest."""
    from kernels.experiment.kernel_tuner import CacheError, read_cache
    from worker.experiment.folder import Folder
    from worker.experiment.imported import imported

    try:
        cache = read_cache(path.read_text("utf-8"))
    except CacheError as error:
        file = f"{path}:{error.line}" if error.line else path
        place = f"{error.place}: " if error.place else ""
        raise WrongUse(f"{file}: {place}{error.reason}") from error
    except OSError as error:
        raise WrongUse(f"{path} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"{path} isn't UTF-8 text.") from error
    return Opened(Folder(path), imported(path.stem, cache), list(cache.results))


def quantity_named(name: str | None, results: list[PointResult]) -> Quantity:
    """A quantity by its name; by default the measured speed, or the speed of light if nothing was measured."""
    from kernels.experiment.quantities import NoSuchQuantity, quantity, speed_of

    try:
        return quantity(name) if name is not None else speed_of(results) or quantity("bound")
    except NoSuchQuantity as error:
        raise WrongUse(f"--y: {error}") from error


def print_or_write(path: Path | None, parts: Iterable[str]) -> None:
    """Write a text, part by part, to the file that --output names, or to standard output without one."""
    if path is None:
        sys.stdout.writelines(parts)
    else:
        write("--output", path, (part.encode() for part in parts))


def write(option: str, path: Path, parts: Iterable[bytes]) -> None:
    try:
        with path.open("wb") as file:
            file.writelines(parts)
    except OSError as error:
        raise WrongUse(f"{option} {path}: the file can't be written: {error.strerror}.") from error
