"""Announcements.

Revision ID: 0018
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0015"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "announcements",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=True),
        sa.Column("author_id", _ID, nullable=True),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=True),
        sa.Column("withdrawn_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_announcements_course_id_courses")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_announcements_assignment_id_assignments")),
        sa.ForeignKeyConstraint(["author_id"], ["people.id"], name=op.f("fk_announcements_author_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcements")),
    )  # fmt: skip
    op.create_index(op.f("ix_announcements_course_id_id"), "announcements", ["course_id", "id"])
    op.create_table(
        "seen_announcements",
        sa.Column("announcement_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["announcement_id"], ["announcements.id"],
                                name=op.f("fk_seen_announcements_announcement_id_announcements")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_seen_announcements_person_id_people")),
        sa.PrimaryKeyConstraint("announcement_id", "person_id", name=op.f("pk_seen_announcements")),
    )  # fmt: skip
    op.create_index(op.f("ix_seen_announcements_person_id"), "seen_announcements", ["person_id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("seen_announcements")
    op.drop_table("announcements")
