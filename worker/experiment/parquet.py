"""The table of an experiment as a Parquet file: every column has its type, whatever its values."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import datetime

from arro3.core import Array, DataType, Field, Schema, Table
from arro3.io import write_parquet

from kernels.experiment.export import Row, column_types, rows
from kernels.experiment.result import PointResult

_TYPES: Mapping[type, DataType] = {
    bool: DataType.bool(),
    int: DataType.int64(),
    float: DataType.float64(),
    str: DataType.utf8(),
    datetime: DataType.timestamp("us", tz="UTC"),
}


def to_parquet(results: Sequence[PointResult]) -> bytes:
    """The rows of `kernels.experiment.export`. A moment is a timestamp in UTC."""
    found, types = rows(results), column_types(results)
    columns = {name: _column(found, name, kind) for name, kind in types.items()}
    schema = Schema([Field(name, _TYPES[kind]) for name, kind in types.items()])
    out = io.BytesIO()
    write_parquet(Table.from_arrays(list(columns.values()), schema=schema), out, compression="zstd(3)")
    return out.getvalue()


def _column(found: Sequence[Row], name: str, kind: type) -> Array:
    values = [row[name] for row in found]
    if kind is datetime:
        moments = [_microseconds(str(value)) if value else None for value in values]
        return Array(moments, DataType.int64()).cast(_TYPES[kind])
    return Array([value if value is None else kind(value) for value in values], _TYPES[kind])


def _microseconds(moment: str) -> int | None:
    """Since 1970; None for a text of another program that isn't a moment."""
    try:
        return round(datetime.fromisoformat(moment).timestamp() * 1_000_000)
    except ValueError:
        return None
