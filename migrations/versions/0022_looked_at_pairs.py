"""Similar submissions that course staff looked at, and exact copies from now on.

Revision ID: 0022
Revises: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "looked_at_pairs",
        sa.Column("left_id", _ID, nullable=False),
        sa.Column("right_id", _ID, nullable=False),
        sa.Column("note", sa.String(length=500), nullable=False),
        sa.Column("looked_by", _ID, nullable=True),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("left_id < right_id", name=op.f("ck_looked_at_pairs_left_is_lower")),
        sa.ForeignKeyConstraint(["left_id"], ["submissions.id"],
                                name=op.f("fk_looked_at_pairs_left_id_submissions")),
        sa.ForeignKeyConstraint(["right_id"], ["submissions.id"],
                                name=op.f("fk_looked_at_pairs_right_id_submissions")),
        sa.ForeignKeyConstraint(["looked_by"], ["people.id"], name=op.f("fk_looked_at_pairs_looked_by_people")),
        sa.PrimaryKeyConstraint("left_id", "right_id", name=op.f("pk_looked_at_pairs")),
    )  # fmt: skip
    op.create_index(op.f("ix_looked_at_pairs_right_id"), "looked_at_pairs", ["right_id"])

    op.create_table(
        "exact_copies",
        sa.Column("submission_id", _ID, nullable=False),
        sa.Column("of_id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"],
                                name=op.f("fk_exact_copies_submission_id_submissions")),
        sa.ForeignKeyConstraint(["of_id"], ["submissions.id"], name=op.f("fk_exact_copies_of_id_submissions")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_exact_copies_assignment_id_assignments")),
        sa.PrimaryKeyConstraint("submission_id", name=op.f("pk_exact_copies")),
    )  # fmt: skip
    op.create_index(op.f("ix_exact_copies_of_id"), "exact_copies", ["of_id"])
    op.create_index(op.f("ix_exact_copies_assignment_id"), "exact_copies", ["assignment_id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("exact_copies")
    op.drop_table("looked_at_pairs")
