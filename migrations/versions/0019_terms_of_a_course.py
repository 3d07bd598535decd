"""The right to create courses in the portal, and an index of the jobs that give verdicts.

Revision ID: 0019
Revises: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("people") as table:
        table.add_column(
            sa.Column("creates_courses", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("people") as table:
        table.alter_column("creates_courses", server_default=None)
    op.create_index(op.f("ix_submissions_judged_job_id"), "submissions", ["judged_job_id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_index(op.f("ix_submissions_judged_job_id"), "submissions")
    with op.batch_alter_table("people") as table:
        table.drop_column("creates_courses")
