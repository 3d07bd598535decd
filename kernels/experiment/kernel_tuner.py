"""The results in a cache file of Kernel Tuner, as points of an experiment.

A cache has one entry for each configuration, with its times in milliseconds. A configuration that failed has the
reason in place of a time. Kernel Tuner leaves the last two brackets out while it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kernels.experiment.model import MOST_POINTS
from kernels.experiment.result import PointResult
from kernels.measurement import Environment, Measurement
from kernels.measurement.median import middle
from kernels.verdict import Finding, Verdict

UNCHECKED = "Measured by Kernel Tuner. Tilelab didn't check this kernel."
_FAILED: Mapping[str, tuple[Verdict, str]] = {
    "CompilationFailedConfig": (Verdict.COMPILE_ERROR, "Kernel Tuner couldn't compile it."),
    "RuntimeFailedConfig": (Verdict.RUNTIME_ERROR, "It failed when Kernel Tuner ran it."),
    "InvalidConfig": (Verdict.RESOURCE_LIMIT, "Kernel Tuner couldn't launch it."),
    "ErrorConfig": (Verdict.RUNTIME_ERROR, "It failed in Kernel Tuner."),
}
_GFLOPS = ("GFLOP/s", "GFLOPS/s", "GFLOPS", "GFLOPs", "gflops")
_GBPS = ("GB/s", "gbps")
_SIZES = ("problem_size_x", "problem_size_y", "problem_size_z")
_LONGEST_NAME = 200
_LONGEST_KEY = 60
_LARGEST = 10**18
"""Values and sizes beyond it don't fit a table's column."""
_SMALLEST_FIGURE, _LARGEST_FIGURE = 1e-12, 1e15


class CacheError(ValueError):
    """A file that can't be used as a cache.

    place: the field of the mistake, or ""; line: the line of one that isn't JSON, or 0
    """

    def __init__(self, place: str, reason: str, line: int = 0) -> None:
        where = f"line {line}" if line else place
        super().__init__(f"{where}: {reason}" if where else reason)
        self.place = place
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cache:
    """What a cache file has. values: of each parameter, in the file's order."""

    kernel: str
    device: str
    values: Mapping[str, tuple[int, ...]]
    results: tuple[PointResult, ...]


def read_cache(text: str) -> Cache:
    """The results of a cache file; raises CacheError."""
    data = _json(text)
    kernel, device = (_text(data, key) for key in ("kernel_name", "device_name"))
    names = data.get("tune_params_keys")
    if not isinstance(names, list) or not names or not all(map(_is_name, names)):
        raise CacheError("tune_params_keys", "Expected a list of C identifiers.")
    if len(set(names)) != len(names):
        raise CacheError("tune_params_keys", "A name is in the list twice.")
    entries = data.get("cache")
    if not isinstance(entries, dict) or not entries:
        raise CacheError("cache", "Expected an object with an entry for each configuration.")
    if len(entries) > MOST_POINTS:
        raise CacheError("cache", f"There are {len(entries):,} entries. The limit is {MOST_POINTS:,}.")
    sizes = _sizes(data.get("problem_size"))
    results = tuple(
        _Entry(number, _place(key), entry).result(kernel, device, names, sizes)
        for number, (key, entry) in enumerate(entries.items())
    )
    _refuse_twins(entries, results)
    values = {name: tuple(sorted({result.params[name] for result in results})) for name in names}
    return Cache(kernel, device, values, results)


def _place(key: str) -> str:
    """An entry, as an error names it."""
    return f"cache[{json.dumps(key[:_LONGEST_KEY] + '...' * (len(key) > _LONGEST_KEY))}]"


def _refuse_twins(entries: Mapping[str, Any], results: Sequence[PointResult]) -> None:
    known: set[object] = set()
    for key, result in zip(entries, results, strict=True):
        if result.key in known:
            raise CacheError(_place(key), "Another entry has the same values.")
        known.add(result.key)


def _json(text: str) -> Mapping[str, Any]:
    """The file's object, also of a run that goes on or was interrupted."""
    try:
        try:
            data = json.loads(text)
        except ValueError:
            data = json.loads(text.rstrip().removesuffix(",") + "}\n}")
    except (ValueError, RecursionError):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            raise CacheError("", f"This isn't JSON: {error.msg}.", error.lineno) from None
        except (ValueError, RecursionError):
            pass
        raise CacheError("", "This isn't JSON that can be read.") from None
    if not isinstance(data, dict):
        raise CacheError("", "Expected an object with the fields of a Kernel Tuner cache.")
    return data


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_NAME or not value.isprintable():
        raise CacheError(key, f"Expected a text of 1 to {_LONGEST_NAME} printable characters.")
    return value


def _sizes(given: object) -> Mapping[str, int]:
    """The sizes of the problem. Older files and computed sizes have none."""
    if _whole(given):
        return {"problem_size": int(given)}  # type: ignore[call-overload]
    if isinstance(given, list) and all(map(_whole, given)) and len(given) <= len(_SIZES):
        return dict(zip(_SIZES, map(int, given), strict=False))
    if given is None or isinstance(given, str):
        return {}
    raise CacheError("problem_size", "Expected a whole number, or a list of up to 3.")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One configuration."""

    number: int
    place: str
    data: Any

    def result(self, kernel: str, device: str, names: Sequence[str], sizes: Mapping[str, int]) -> PointResult:
        if not isinstance(self.data, dict):
            raise CacheError(self.place, "Expected an object.")
        params = {name: self._param(name) for name in names}
        failed = next((value for value in self.data.values() if isinstance(value, str) and value in _FAILED), "")
        verdict, message = _FAILED.get(failed, (Verdict.ACCEPTED, UNCHECKED))
        return PointResult(
            number=self.number,
            params=params,
            kernel=kernel,
            verdict=verdict,
            message=message,
            digest="",
            tile=0,
            sizes=sizes,
            device=device,
            measurement=None if failed else self._measurement(device, sizes),
            seconds=self._seconds(),
            ended=self._ended(),
            finding=Finding(verdict, message) if failed else None,
        )

    def _param(self, name: str) -> int:
        value = self.data.get(name)
        if isinstance(value, bool):
            return int(value)
        if not _whole(value):
            raise CacheError(
                f"{self.place}.{name}", f"Expected a whole number up to {_LARGEST:,}. Other values aren't supported."
            )
        return int(value)

    def _measurement(self, device: str, sizes: Mapping[str, int]) -> Measurement:
        times = self.data.get("times", [self.data.get("time")])
        if not isinstance(times, list) or not times or not all(map(_positive, times)):
            field = "times" if "times" in self.data else "time"
            raise CacheError(
                f"{self.place}.{field}",
                f"Expected {_SMALLEST_FIGURE:g} to {_LARGEST_FIGURE:g} milliseconds, or a reason in place.",
            )
        found = middle(times)
        # Kernel Tuner computes its speeds from the mean
        mean = self.data["time"] if _positive(self.data.get("time")) else sum(times) / len(times)
        gflops, gbps = self._first(_GFLOPS), self._first(_GBPS)
        return Measurement(
            sizes=sizes,
            ms_median=found.median,
            ci=(found.low, found.high) if len(times) > 1 else (0.0, 0.0),
            spread=(min(times), max(times)),
            repeats=len(times),
            settled=found.settled,
            gflops=gflops and gflops * mean / found.median,
            gbps=gbps and gbps * mean / found.median,
            metric="gflops" if gflops else "time",
            environment=Environment(device, "", "", 0, 0, 0, "", "", ""),
        )

    def _first(self, names: Sequence[str]) -> float | None:
        return next((float(self.data[name]) for name in names if _positive(self.data.get(name))), None)

    def _ended(self) -> str:
        """Its moment, in UTC without a time zone; "" for a text that isn't one."""
        try:
            found = datetime.fromisoformat(self.data.get("timestamp"))
        except (TypeError, ValueError):
            return ""
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()

    def _seconds(self) -> Mapping[str, float]:
        """Kernel Tuner's times of the steps, in milliseconds there."""
        steps = {"compile": "compile_time", "check": "verification_time", "measure": "benchmark_time"}
        given = {step: self.data.get(field) for step, field in steps.items()}
        return {step: value / 1000 for step, value in given.items() if _positive(value)}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is not None


def _whole(value: object) -> bool:
    """Whether this is a whole number that a table can hold, also as a float."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -_LARGEST <= value <= _LARGEST
        and value == int(value)
    )


def _positive(value: object) -> bool:
    """Whether this is a time or a speed that can be compared and drawn."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and _SMALLEST_FIGURE <= value <= _LARGEST_FIGURE
    )
