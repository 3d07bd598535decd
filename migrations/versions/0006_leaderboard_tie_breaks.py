"""A random number for each leaderboard entry, which orders equal entries instead of the person's number.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_BOARD = ["assignment_id", "device_class", "before_freeze"]
_ORDERS = {
    "board": ["score", "reached_at"],
    "reached_at": ["reached_at"],
    "cublas_share": ["cublas_share"],
    "occupancy": ["occupancy"],
}
_DRAWN = {
    "postgresql": "floor(random() * 4611686018427387904)::bigint",
    "sqlite": "random() & 4611686018427387903",
}


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("standings") as standings:
        standings.add_column(sa.Column("lot", sa.BigInteger(), nullable=True))
    op.execute(f"UPDATE standings SET lot = {_DRAWN[op.get_bind().dialect.name]}")  # noqa: S608 - our own words
    with op.batch_alter_table("standings") as standings:
        standings.alter_column("lot", existing_type=sa.BigInteger(), nullable=False)
    _order_by("lot")


def _order_by(last: str) -> None:
    for name, columns in _ORDERS.items():
        op.drop_index(f"ix_standings_{name}", "standings")
        op.create_index(f"ix_standings_{name}", "standings", [*_BOARD, *columns, last])


def downgrade() -> None:
    """Go back to the version before."""
    _order_by("person_id")
    with op.batch_alter_table("standings") as standings:
        standings.drop_column("lot")
