"""Drafts and numbered versions of a course's exercises, jobs that prove one, and staged new versions.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_DRAFT = sa.text("course_id IS NOT NULL AND number IS NULL")
_PROOF = sa.text("proof_file IS NOT NULL")
_KINDS = ("submission", "regrade", "experiment")
_ORIGINS = ("submission_id", "experiment_id", "regrade_id")
_exercises = sa.table(
    "exercises", sa.column("id", _ID), sa.column("course_id", _ID), sa.column("name"), sa.column("number"),
    sa.column("added_at", _TIME), sa.column("published_at", _TIME),
)  # fmt: skip


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("exercises") as table:
        table.add_column(sa.Column("added_by", _ID, nullable=True))
        table.add_column(sa.Column("number", sa.Integer(), nullable=True))
        table.add_column(sa.Column("published_at", _TIME, nullable=True))
    _number()
    with op.batch_alter_table("exercises") as table:
        table.create_foreign_key(op.f("fk_exercises_added_by_people"), "people", ["added_by"], ["id"])
        table.create_unique_constraint(
            op.f("uq_exercises_course_id_name_number_digest"), ["course_id", "name", "number", "digest"]
        )
        table.create_check_constraint(
            op.f("ck_exercises_published_has_number"), sa.text("(number IS NULL) = (published_at IS NULL)")
        )
    op.create_index("uq_exercises_draft", "exercises", ["course_id", "name"], unique=True,
                    postgresql_where=_DRAFT, sqlite_where=_DRAFT)  # fmt: skip
    with op.batch_alter_table("jobs") as table:
        table.add_column(sa.Column("proof_file", sa.String(length=100), nullable=True))
    _check_jobs((*_KINDS, "proof"), (*_ORIGINS, "proof_file"))
    op.create_index("ix_jobs_proof", "jobs", ["exercise_id"], postgresql_where=_PROOF, sqlite_where=_PROOF)
    with op.batch_alter_table("staged_regrades") as table:
        table.add_column(sa.Column("exercise_id", _ID, nullable=True))
        table.create_foreign_key(
            op.f("fk_staged_regrades_exercise_id_exercises"), "exercises", ["exercise_id"], ["id"]
        )


def _number() -> None:
    """Every exercise that a course has so far is a published version of it."""
    connection = op.get_bind()
    rows = connection.execute(
        sa.select(_exercises).where(_exercises.c.course_id.is_not(None)).order_by(_exercises.c.id)
    ).all()
    last: dict[tuple[int, str], int] = {}
    for row in rows:
        key = (row.course_id, row.name)
        last[key] = last.get(key, 0) + 1
        values = {"number": last[key], "published_at": row.added_at}
        connection.execute(sa.update(_exercises).where(_exercises.c.id == row.id).values(values))


def _check_jobs(kinds: tuple[str, ...], origins: tuple[str, ...]) -> None:
    one = " + ".join(f"(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END)" for name in origins) + " = 1"
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    with op.batch_alter_table("jobs") as table:
        table.drop_constraint(op.f("ck_jobs_one_origin"), type_="check")
        table.drop_constraint(op.f("ck_jobs_jobkind"), type_="check")
        table.create_check_constraint(op.f("ck_jobs_one_origin"), sa.text(one))
        table.create_check_constraint(op.f("ck_jobs_jobkind"), sa.text(f"kind IN ({listed})"))


def downgrade() -> None:
    """Go back to the version before. Proofs, drafts and staged new versions go."""
    _delete_jobs("proof_file IS NOT NULL")
    staged = "SELECT id FROM staged_regrades WHERE exercise_id IS NOT NULL"
    _delete_jobs(f"regrade_id IN ({staged})")
    op.execute("DELETE FROM staged_regrades WHERE exercise_id IS NOT NULL")
    drafts = "SELECT id FROM exercises WHERE course_id IS NOT NULL AND number IS NULL"
    op.execute(f"DELETE FROM exercise_files WHERE exercise_id IN ({drafts})")  # noqa: S608 - constants
    op.execute("DELETE FROM exercises WHERE course_id IS NOT NULL AND number IS NULL")
    with op.batch_alter_table("staged_regrades") as table:
        table.drop_constraint(op.f("fk_staged_regrades_exercise_id_exercises"), type_="foreignkey")
        table.drop_column("exercise_id")
    op.drop_index("ix_jobs_proof", "jobs")
    _check_jobs(_KINDS, _ORIGINS)
    with op.batch_alter_table("jobs") as table:
        table.drop_column("proof_file")
    op.drop_index("uq_exercises_draft", "exercises")
    with op.batch_alter_table("exercises") as table:
        table.drop_constraint(op.f("ck_exercises_published_has_number"), type_="check")
        table.drop_constraint(op.f("uq_exercises_course_id_name_number_digest"), type_="unique")
        table.drop_constraint(op.f("fk_exercises_added_by_people"), type_="foreignkey")
        for name in ("added_by", "number", "published_at"):
            table.drop_column(name)


def _delete_jobs(which: str) -> None:
    jobs = f"SELECT id FROM jobs WHERE {which}"  # noqa: S608 - constants
    steps = f"SELECT id FROM steps WHERE job_id IN ({jobs})"  # noqa: S608
    op.execute(f"DELETE FROM attempts WHERE step_id IN ({steps})")  # noqa: S608
    for name in ("results", "steps"):
        op.execute(f"DELETE FROM {name} WHERE job_id IN ({jobs})")  # noqa: S608
    op.execute(f"DELETE FROM jobs WHERE {which}")  # noqa: S608
