"""The files of an experiment: all that the command writes of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from kernels.experiment.export import csv_parts, json_parts, t4_parts
from kernels.experiment.result import PointResult


@dataclass(frozen=True, slots=True)
class Download:
    """A file with all results. title: of its link; write: its parts."""

    name: str
    title: str
    media_type: str
    write: Callable[[Iterable[PointResult]], Iterable[str | bytes]]


def _t4(results: Iterable[PointResult]) -> Iterator[str]:
    return t4_parts(results, {"tilelab": version("tilelab")})


def _parquet(results: Iterable[PointResult]) -> Iterator[bytes]:
    from kernels.experiment.parquet import to_parquet  # few pages need its library

    yield to_parquet(results)


DOWNLOADS: Mapping[str, Download] = {
    each.name: each
    for each in (
        Download("points.csv", "CSV", "text/csv; charset=utf-8", csv_parts),
        Download("points.json", "JSON", "application/json", json_parts),
        Download("points.parquet", "Parquet", "application/vnd.apache.parquet", _parquet),
        Download("points.t4.json", "T4", "application/json", _t4),
    )
}
