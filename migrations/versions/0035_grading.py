"""Items and adjustments of rubric grades, shares of graders, saved comments, and blind grading.

Revision ID: 0035
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_ADDED: dict[str, dict[str, tuple[sa.types.TypeEngine[Any], Any]]] = {
    "rubric_grades": {"items": (_DOCUMENT, "[]"), "adjustment": (sa.Double(), "0"), "reason": (sa.String(500), "")},
    "assignments": {"blind": (sa.Boolean(), sa.false())},
}


def upgrade() -> None:
    """Create the tables, and add the columns."""
    for name, columns in _ADDED.items():
        with op.batch_alter_table(name) as table:
            for column, (kind, old) in columns.items():
                table.add_column(sa.Column(column, kind, nullable=False, server_default=old))
        with op.batch_alter_table(name) as table:
            for column in columns:
                table.alter_column(column, server_default=None)
    op.create_table(
        "grading_shares",
        sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), primary_key=True),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True, index=True),
        sa.Column("grader_id", _ID, sa.ForeignKey("people.id")),
        sa.Column("claimed_by", _ID, sa.ForeignKey("people.id")),
        sa.Column("claimed_until", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "saved_comments",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("course_id", _ID, sa.ForeignKey("courses.id"), nullable=False),
        sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), index=True),
        sa.Column("text", sa.String(4000), nullable=False),
        sa.Index("ix_saved_comments_course_id_id", "course_id", "id"),
    )


def downgrade() -> None:
    """Remove them, also from rubrics: the code before doesn't read items."""
    assignments = sa.table("assignments", sa.column("id"), sa.column("rubric"))
    for number, rubric in op.get_bind().execute(sa.select(assignments).where(assignments.c.rubric != "")).all():
        old = [{key: each[key] for key in each if key not in ("items", "one")} for each in json.loads(rubric)]
        op.execute(assignments.update().where(assignments.c.id == number).values(rubric=json.dumps(old)))
    for table_name in ("saved_comments", "grading_shares"):
        op.drop_table(table_name)
    for name, columns in _ADDED.items():
        with op.batch_alter_table(name) as table:
            for column in columns:
                table.drop_column(column)
