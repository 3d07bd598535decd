"""Rubrics of assignments, and what course staff give by them.

Revision ID: 0021
Revises: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("rubric", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("assignments") as table:
        table.alter_column("rubric", server_default=None)
    op.create_table(
        "rubric_grades",
        sa.Column("id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("submission_id", _ID, nullable=False),
        sa.Column("points", _DOCUMENT, nullable=False),
        sa.Column("words", _DOCUMENT, nullable=False),
        sa.Column("graded_by", _ID, nullable=True),
        sa.Column("graded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_rubric_grades_assignment_id_assignments")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_rubric_grades_person_id_people")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"],
                                name=op.f("fk_rubric_grades_submission_id_submissions")),
        sa.ForeignKeyConstraint(["graded_by"], ["people.id"], name=op.f("fk_rubric_grades_graded_by_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rubric_grades")),
        sa.UniqueConstraint("assignment_id", "person_id", name=op.f("uq_rubric_grades_assignment_id_person_id")),
    )  # fmt: skip
    op.create_index(op.f("ix_rubric_grades_person_id"), "rubric_grades", ["person_id"])
    op.create_index(op.f("ix_rubric_grades_submission_id"), "rubric_grades", ["submission_id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("rubric_grades")
    with op.batch_alter_table("assignments") as table:
        table.drop_column("rubric")
