"""Student IDs of members and invited people.

Revision ID: 0033
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

_TABLES = ("memberships", "course_invitations")
_INDEX = "uq_memberships_student_id"
_HAS_ID = sa.text("student_id <> ''")


def upgrade() -> None:
    """Add the columns. A student ID occurs once in a course."""
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("student_id", sa.String(60), nullable=False, server_default=""))
        with op.batch_alter_table(name) as table:
            table.alter_column("student_id", server_default=None)
    op.create_index(
        _INDEX, "memberships", ["course_id", "student_id"], unique=True, postgresql_where=_HAS_ID, sqlite_where=_HAS_ID
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_index(_INDEX, "memberships")
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            table.drop_column("student_id")
