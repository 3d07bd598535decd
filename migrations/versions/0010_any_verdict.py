"""Verdicts without a list in the database: only the code knows them.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TABLES = ("jobs", "results")
_VERDICTS = (
    "rejected", "compile_error", "resource_limit", "unsupported", "out_of_bounds", "barrier_divergence", "data_race",
    "uninitialized_read", "time_limit", "input_modified", "runtime_error", "wrong_answer", "accepted", "system_error",
)  # fmt: skip


def upgrade() -> None:
    """Upgrade to this version."""
    for table in _TABLES:
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(op.f(f"ck_{table}_verdict"), type_="check")


def downgrade() -> None:
    """Go back to the version before."""
    for table in _TABLES:
        with op.batch_alter_table(table) as batch:
            batch.create_check_constraint(op.f(f"ck_{table}_verdict"), sa.column("verdict").in_(_VERDICTS))
