"""Corrections of grades, and grades that students don't see yet.

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("grades_held", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("assignments") as table:
        table.alter_column("grades_held", server_default=None)
    op.create_table(
        "corrections",
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("excused", sa.Boolean(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("corrected_by", _ID, nullable=True),
        sa.Column("corrected_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("score IS NULL OR score >= 0", name=op.f("ck_corrections_score_not_negative")),
        sa.CheckConstraint("score IS NULL OR NOT excused", name=op.f("ck_corrections_score_or_excused")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_corrections_assignment_id_assignments")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_corrections_person_id_people")),
        sa.ForeignKeyConstraint(["corrected_by"], ["people.id"], name=op.f("fk_corrections_corrected_by_people")),
        sa.PrimaryKeyConstraint("assignment_id", "person_id", name=op.f("pk_corrections")),
    )  # fmt: skip
    op.create_index(op.f("ix_corrections_person_id"), "corrections", ["person_id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("corrections")
    with op.batch_alter_table("assignments") as table:
        table.drop_column("grades_held")
