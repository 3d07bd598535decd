"""Trials: one run of a kernel at sizes and values that a student chose.

Revision ID: 0044
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0044"
down_revision = "0043"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = "fk_jobs_trial_of_id_assignments"
_KINDS = ("submission", "regrade", "experiment", "proof")
_ORIGINS = ("submission_id", "experiment_id", "regrade_id", "proof_file")


def _one_origin(*names: str) -> str:
    return " + ".join(f"(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END)" for name in names) + " = 1"


def _kind_in(*kinds: str) -> str:
    return f"kind IN ({', '.join(repr(kind) for kind in kinds)})"


def upgrade() -> None:
    """Add the column. The checks know one more kind and origin."""
    with op.batch_alter_table("jobs") as table:
        table.add_column(sa.Column("trial_of_id", _ID))
        table.create_foreign_key(_KEY, "assignments", ["trial_of_id"], ["id"])
        _replace(table, _kind_in(*_KINDS, "trial"), _one_origin(*_ORIGINS, "trial_of_id"))
    condition = sa.text("trial_of_id IS NOT NULL")
    op.create_index(
        "ix_jobs_trial", "jobs", ["trial_of_id", "person_id"], postgresql_where=condition, sqlite_where=condition
    )


def downgrade() -> None:
    """Remove it with all trials, which count for nothing."""
    trials = "(SELECT id FROM jobs WHERE kind = 'trial')"
    op.execute(f"DELETE FROM attempts WHERE step_id IN (SELECT id FROM steps WHERE job_id IN {trials})")  # noqa: S608
    for name in ("steps", "results"):
        op.execute(f"DELETE FROM {name} WHERE job_id IN {trials}")  # noqa: S608 - our own names
    op.execute("DELETE FROM jobs WHERE kind = 'trial'")
    op.drop_index("ix_jobs_trial", "jobs")
    with op.batch_alter_table("jobs") as table:
        _replace(table, _kind_in(*_KINDS), _one_origin(*_ORIGINS))
        table.drop_constraint(_KEY, type_="foreignkey")
        table.drop_column("trial_of_id")


def _replace(table: BatchOperations, kinds: str, origin: str) -> None:
    for name, condition in (("jobkind", kinds), ("one_origin", origin)):
        table.drop_constraint(name, type_="check")
        table.create_check_constraint(name, condition)
