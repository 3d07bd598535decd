"""Announcements, comments on submissions, and regrade requests.

Revision ID: 0018
Revises: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_PARTS = (
    ("ix_comments_waiting", "waits_since", sa.text("waits_since IS NOT NULL")),
    ("ix_comments_news", "submission_id", sa.text("news_since IS NOT NULL")),
)


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
    op.create_table(
        "comments",
        sa.Column("id", _ID, nullable=False),
        sa.Column("submission_id", _ID, nullable=False),
        sa.Column("thread_id", _ID, nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("author_id", _ID, nullable=True),
        sa.Column("by_staff", sa.Boolean(), nullable=False),
        sa.Column("text", sa.String(length=4000), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("removed_at", _TIME, nullable=True),
        sa.Column("waits_since", _TIME, nullable=True),
        sa.Column("news_since", _TIME, nullable=True),
        sa.CheckConstraint("line IS NULL OR (line > 0 AND thread_id IS NULL)",
                           name=op.f("ck_comments_line_of_thread")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"],
                                name=op.f("fk_comments_submission_id_submissions")),
        sa.ForeignKeyConstraint(["thread_id"], ["comments.id"], name=op.f("fk_comments_thread_id_comments")),
        sa.ForeignKeyConstraint(["author_id"], ["people.id"], name=op.f("fk_comments_author_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
    )  # fmt: skip
    op.create_index(op.f("ix_comments_submission_id_id"), "comments", ["submission_id", "id"])
    op.create_index(op.f("ix_comments_thread_id"), "comments", ["thread_id"])
    for name, column, where in _PARTS:
        op.create_index(op.f(name), "comments", [column], postgresql_where=where, sqlite_where=where)
    op.create_table(
        "regrade_requests",
        sa.Column("id", _ID, nullable=False),
        sa.Column("submission_id", _ID, nullable=False),
        sa.Column("reason", sa.String(length=2000), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=True),
        sa.Column("answer", sa.String(length=2000), nullable=False),
        sa.Column("answered_by", _ID, nullable=True),
        sa.Column("answered_at", _TIME, nullable=True),
        sa.CheckConstraint("(granted IS NULL) = (answered_at IS NULL)",
                           name=op.f("ck_regrade_requests_answered_once")),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"],
                                name=op.f("fk_regrade_requests_submission_id_submissions")),
        sa.ForeignKeyConstraint(["answered_by"], ["people.id"], name=op.f("fk_regrade_requests_answered_by_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_regrade_requests")),
    )  # fmt: skip
    op.create_index(op.f("ix_regrade_requests_submission_id_id"), "regrade_requests", ["submission_id", "id"])
    still = sa.text("answered_at IS NULL")
    op.create_index(op.f("uq_regrade_requests_open"), "regrade_requests", ["submission_id"], unique=True,
                    postgresql_where=still, sqlite_where=still)  # fmt: skip


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("regrade_requests")
    op.drop_table("comments")
    op.drop_table("seen_announcements")
    op.drop_table("announcements")
