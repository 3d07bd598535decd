"""An index for the points of an experiment that ended in a system error.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_FAILED = sa.text("verdict = 'system_error'")


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_index("ix_experiment_points_failed", "experiment_points", ["experiment_id"],
                    postgresql_where=_FAILED, sqlite_where=_FAILED)  # fmt: skip


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_index("ix_experiment_points_failed", "experiment_points")
