"""Experiments with submissions as kernels, searches, and an index of failed points.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_FAILED = sa.text("verdict = 'system_error'")


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("experiments") as table:
        table.add_column(sa.Column("tunes", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("experiments") as table:
        table.alter_column("tunes", server_default=None)
    op.create_table(
        "experiment_submissions",
        sa.Column("experiment_id", _ID, nullable=False),
        sa.Column("kernel", sa.String(length=200), nullable=False),
        sa.Column("submission_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"],
                                name=op.f("fk_experiment_submissions_experiment_id_experiments")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"],
                                name=op.f("fk_experiment_submissions_submission_id_submissions")),
        sa.PrimaryKeyConstraint("experiment_id", "kernel", name=op.f("pk_experiment_submissions")),
    )  # fmt: skip
    op.create_index(
        op.f("ix_experiment_submissions_submission_id"), "experiment_submissions", ["submission_id"]
    )
    op.create_index("ix_experiment_points_failed", "experiment_points", ["experiment_id"],
                    postgresql_where=_FAILED, sqlite_where=_FAILED)  # fmt: skip


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_index("ix_experiment_points_failed", "experiment_points")
    op.drop_table("experiment_submissions")
    with op.batch_alter_table("experiments") as table:
        table.drop_column("tunes")
