"""The table of an experiment as a Parquet file: every column has its type, whatever its values."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from arro3.core import Array, DataType, Field, RecordBatch, Schema, Table
from arro3.io import write_parquet

from kernels.experiment.export import Row, rows
from kernels.experiment.result import PointResult

_TYPES: Mapping[type, DataType] = {
    bool: DataType.bool(),
    int: DataType.int64(),
    float: DataType.float64(),
    str: DataType.utf8(),
    datetime: DataType.timestamp("us", tz="UTC"),
}
_AT_ONCE = 1000


def to_parquet(results: Iterable[PointResult]) -> bytes:
    """The rows of `kernels.experiment.export`. A moment is a timestamp in UTC."""
    types, found = rows(results)
    schema = Schema([Field(name, _TYPES[kind]) for name, kind in types.items()])
    batches = list(_batches(found, types, schema))
    out = io.BytesIO()
    write_parquet(Table.from_batches(batches, schema=schema), out, compression="zstd(3)")
    return out.getvalue()


def _batches(found: Iterator[Row], types: Mapping[str, type], schema: Schema) -> Iterator[RecordBatch]:
    """Some rows at a time, because a row as an object is much larger than in a column."""
    while some := list(islice(found, _AT_ONCE)):
        columns = [_column(some, name, kind) for name, kind in types.items()]
        yield RecordBatch.from_arrays(columns, schema=schema)


def _column(found: Sequence[Row], name: str, kind: type) -> Array:
    values = [row[name] for row in found]
    if kind is datetime:
        moments = [_microseconds(str(value)) if value else None for value in values]
        return Array(moments, DataType.int64()).cast(_TYPES[kind])
    return Array([value if value is None else kind(value) for value in values], _TYPES[kind])


def _microseconds(moment: str) -> int | None:
    """Since 1970; None for a text of another program that isn't a moment. Without a time zone, it's in UTC."""
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000_000)
