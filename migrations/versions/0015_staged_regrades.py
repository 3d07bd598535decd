"""Regrades that change nothing until they are applied.

Revision ID: 0015
Revises: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TWO = "(submission_id IS NULL) <> (experiment_id IS NULL)"
_THREE = " + ".join(
    f"(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END)" for name in ("submission_id", "experiment_id", "regrade_id")
) + " = 1"  # fmt: skip
_STAGED = "(regrade_id IS NULL) = (staged_for_id IS NULL)"


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "staged_regrades",
        sa.Column("id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("started_by", _ID, nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("filter", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_staged_regrades_assignment_id_assignments")),
        sa.ForeignKeyConstraint(["started_by"], ["people.id"], name=op.f("fk_staged_regrades_started_by_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_staged_regrades")),
        sa.UniqueConstraint("assignment_id", name=op.f("uq_staged_regrades_assignment_id")),
    )  # fmt: skip
    with op.batch_alter_table("jobs") as table:
        table.add_column(sa.Column("regrade_id", _ID, nullable=True))
        table.add_column(sa.Column("staged_for_id", _ID, nullable=True))
    with op.batch_alter_table("jobs") as table:
        table.drop_constraint(op.f("ck_jobs_one_origin"), type_="check")
        table.create_check_constraint(op.f("ck_jobs_one_origin"), sa.text(_THREE))
        table.create_check_constraint(op.f("ck_jobs_staged_for_a_submission"), sa.text(_STAGED))
        table.create_unique_constraint(
            op.f("uq_jobs_regrade_id_staged_for_id"), ["regrade_id", "staged_for_id"]
        )
        table.create_foreign_key(
            op.f("fk_jobs_regrade_id_staged_regrades"), "staged_regrades", ["regrade_id"], ["id"]
        )
        table.create_foreign_key(
            op.f("fk_jobs_staged_for_id_submissions"), "submissions", ["staged_for_id"], ["id"]
        )
    op.create_index(op.f("ix_jobs_staged_for_id"), "jobs", ["staged_for_id"])


def downgrade() -> None:
    """Go back to the version before. Staged regrades go."""
    staged = "SELECT id FROM jobs WHERE regrade_id IS NOT NULL"
    steps = f"SELECT id FROM steps WHERE job_id IN ({staged})"  # noqa: S608 - constants
    op.execute(f"DELETE FROM attempts WHERE step_id IN ({steps})")  # noqa: S608
    for name in ("results", "steps"):
        op.execute(f"DELETE FROM {name} WHERE job_id IN ({staged})")  # noqa: S608
    op.execute("DELETE FROM jobs WHERE regrade_id IS NOT NULL")
    op.drop_index(op.f("ix_jobs_staged_for_id"), "jobs")
    with op.batch_alter_table("jobs") as table:
        table.drop_constraint(op.f("fk_jobs_regrade_id_staged_regrades"), type_="foreignkey")
        table.drop_constraint(op.f("fk_jobs_staged_for_id_submissions"), type_="foreignkey")
        table.drop_constraint(op.f("uq_jobs_regrade_id_staged_for_id"), type_="unique")
        table.drop_constraint(op.f("ck_jobs_staged_for_a_submission"), type_="check")
        table.drop_constraint(op.f("ck_jobs_one_origin"), type_="check")
        table.create_check_constraint(op.f("ck_jobs_one_origin"), sa.text(_TWO))
        table.drop_column("regrade_id")
        table.drop_column("staged_for_id")
    op.drop_table("staged_regrades")
