"""Notes about students, verdicts of submissions in an index, and views of a course as a student.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def _is_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "staff_notes",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("author_id", _ID, nullable=True),
        sa.Column("text", sa.String(length=2000), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_staff_notes_course_id_courses")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_staff_notes_person_id_people")),
        sa.ForeignKeyConstraint(["author_id"], ["people.id"], name=op.f("fk_staff_notes_author_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_staff_notes")),
    )
    op.create_index("ix_staff_notes_course_id_person_id_id", "staff_notes", ["course_id", "person_id", "id"])
    op.create_index("ix_staff_notes_person_id", "staff_notes", ["person_id"])
    with op.batch_alter_table("submissions", recreate="never" if _is_postgresql() else "always") as table:
        table.add_column(sa.Column("verdict", sa.String(length=32), nullable=True))
    op.execute(
        "UPDATE submissions SET verdict = (SELECT verdict FROM jobs WHERE jobs.id = submissions.judged_job_id)"
    )
    if _is_postgresql():
        # Otherwise the checks of the changed rows wait for the end, and no index can be made until then.
        op.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with op.batch_alter_table("browser_sessions") as table:
        table.add_column(sa.Column("viewing_id", _ID, nullable=True))
        table.add_column(sa.Column("viewing_course_id", _ID, nullable=True))
        table.create_foreign_key(
            op.f("fk_browser_sessions_viewing_id_people"), "people", ["viewing_id"], ["id"]
        )
    op.create_index(
        "ix_submissions_outcome",
        "submissions",
        ["assignment_id", "person_id", "mode", "verdict", "created_at"],
    )


def downgrade() -> None:
    """Go back to the version before."""
    with op.batch_alter_table("browser_sessions") as table:
        table.drop_constraint(op.f("fk_browser_sessions_viewing_id_people"), type_="foreignkey")
        table.drop_column("viewing_course_id")
        table.drop_column("viewing_id")
    op.drop_index("ix_submissions_outcome", "submissions")
    with op.batch_alter_table("submissions") as table:
        table.drop_column("verdict")
    op.drop_table("staff_notes")
