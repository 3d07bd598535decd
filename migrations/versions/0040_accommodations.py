"""More time for students in every assignment of a course.

Revision ID: 0040
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "accommodations",
        sa.Column("course_id", _ID, sa.ForeignKey("courses.id"), primary_key=True),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True, index=True),
        sa.Column("extra_days", sa.Integer(), nullable=False),
        sa.Column("extra_percent", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("granted_by", _ID, sa.ForeignKey("people.id"), nullable=True),
        sa.Column("granted_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("extra_days >= 0 AND extra_percent >= 0", name="takes_nothing"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("accommodations")
