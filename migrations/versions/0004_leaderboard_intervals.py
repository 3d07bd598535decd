"""Intervals and modelled bounds on leaderboards, and pages of any length.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import struct
from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_BOARD = ["assignment_id", "device_class", "before_freeze"]
_ORDERS = ("reached_at", "cublas_share", "occupancy")


def _of_results() -> list[sa.Column[object]]:
    return [
        sa.Column("tile", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("bound_ms", sa.Double(), nullable=True),
        sa.Column("bound_gflops", sa.Double(), nullable=True),
        sa.Column("not_ranked", sa.String(length=500), nullable=False, server_default=""),
    ]


def _of_standings() -> list[sa.Column[object]]:
    numbers = ("low", "high", "cublas_share", "occupancy", "bound")
    return [
        *(sa.Column(name, sa.Double(), nullable=False, server_default="0") for name in numbers),
        sa.Column("tile", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("launch", sa.String(length=80), nullable=False, server_default=""),
    ]


def upgrade() -> None:
    """Upgrade to this version."""
    _later("results", _of_results())
    _later("standings", _of_standings())
    # An interval of length zero, so that no existing entry is tied with another.
    op.execute("UPDATE standings SET low = score, high = score")
    op.execute(
        "UPDATE standings SET cublas_share = coalesce((SELECT cublas_share FROM results "
        "WHERE results.job_id = standings.job_id), 0), occupancy = coalesce((SELECT occupancy FROM results "
        "WHERE results.job_id = standings.job_id), 0)"
    )
    for name in _ORDERS:
        op.create_index(f"ix_standings_{name}", "standings", [*_BOARD, name, "person_id"])
    counts = op.create_table(
        "standing_counts",
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("before_freeze", sa.Boolean(), nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_standing_counts_assignment_id_assignments")
        ),
        sa.PrimaryKeyConstraint(*_BOARD, "bucket", name=op.f("pk_standing_counts")),
    )
    op.bulk_insert(counts, _counted())


def _counted() -> list[dict[str, object]]:
    standings = sa.table("standings", *(sa.column(name) for name in (*_BOARD, "score")))
    found: Counter[tuple[object, ...]] = Counter()
    for *board, score in op.get_bind().execute(sa.select(standings)):
        found[(*board, _bucket(score))] += 1
    names = (*_BOARD, "bucket")
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in found.items()]


def _bucket(score: float) -> int:
    bits: int = struct.unpack(">q", struct.pack(">d", score))[0]
    return (bits if bits >= 0 else -(bits & (2**63 - 1))) >> 46


def _later(table: str, columns: list[sa.Column[object]]) -> None:
    """Add columns that must not be empty. Existing rows get a default, which new rows don't have."""
    with op.batch_alter_table(table) as batch:
        for column in columns:
            batch.add_column(column)
    with op.batch_alter_table(table) as batch:
        for column in columns:
            if column.server_default is not None:
                batch.alter_column(column.name, server_default=None)


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("standing_counts")
    for name in _ORDERS:
        op.drop_index(f"ix_standings_{name}", "standings")
    for table, columns in (("standings", _of_standings()), ("results", _of_results())):
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.drop_column(column.name)
