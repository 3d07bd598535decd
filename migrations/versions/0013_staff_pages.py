"""Notes of course staff about students.

Revision ID: 0013
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0011"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "staff_notes",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("course_id", _ID, sa.ForeignKey("courses.id"), nullable=False),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), nullable=False),
        sa.Column("author_id", _ID, sa.ForeignKey("people.id"), nullable=True),
        sa.Column("text", sa.String(length=2000), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.create_index("ix_staff_notes_course_id_person_id_id", "staff_notes", ["course_id", "person_id", "id"])
    op.create_index("ix_staff_notes_person_id", "staff_notes", ["person_id"])


def downgrade() -> None:
    """Downgrade from this version."""
    op.drop_table("staff_notes")
