"""The first tables.

Revision ID: 0001
Revises: nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_QUEUED = sa.text("state = 'queued'")
_IN_FLIGHT = sa.text("state IN ('sent', 'running')")
_VERDICTS = (
    "rejected", "compile_error", "resource_limit", "unsupported", "out_of_bounds", "barrier_divergence", "data_race",
    "uninitialized_read", "time_limit", "input_modified", "runtime_error", "wrong_answer", "accepted", "system_error",
)  # fmt: skip


def _choice(name: str, *values: str) -> sa.Enum:
    """Return a text column type with a constraint on its values."""
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "courses",
        sa.Column("id", _ID, nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("archived_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_courses")),
        sa.UniqueConstraint("slug", name=op.f("uq_courses_slug")),
    )
    op.create_table(
        "exercises",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_exercises")),
    )
    op.create_index(op.f("ix_exercises_name"), "exercises", ["name"])

    op.create_table(
        "people",
        sa.Column("id", _ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password", sa.String(length=200), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("disabled_at", _TIME, nullable=True),
        sa.Column("erased_at", _TIME, nullable=True),
        sa.CheckConstraint("email = lower(email)", name=op.f("ck_people_email_in_small_letters")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("email", name=op.f("uq_people_email")),
    )
    op.create_table(
        "queue_clocks",
        sa.Column("queue", sa.String(length=60), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.PrimaryKeyConstraint("queue", "priority", name=op.f("pk_queue_clocks")),
    )
    op.create_table(
        "sources",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.CheckConstraint("length(content) <= 65536", name=op.f("ck_sources_content_bounded")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sources")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("record", _DOCUMENT, nullable=False),
        sa.Column("first_seen", _TIME, nullable=False),
        sa.Column("last_beat", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.Column("used_at", _TIME, nullable=True),
        sa.Column("revoked_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_api_tokens_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_tokens_digest")),
    )
    op.create_index(op.f("ix_api_tokens_person_id"), "api_tokens", ["person_id"])

    op.create_table(
        "assignments",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=False),
        sa.Column("exercise_digest", sa.String(length=64), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("arch", sa.String(length=16), nullable=False),
        sa.Column("tile", sa.Integer(), nullable=True),
        sa.Column("points", sa.Double(), nullable=False),
        sa.Column("opens_at", _TIME, nullable=True),
        sa.Column("due_at", _TIME, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.CheckConstraint(
            "due_at IS NULL OR opens_at IS NULL OR opens_at < due_at",
            name=op.f("ck_assignments_opens_before_due"),
        ),
        sa.CheckConstraint("points >= 0", name=op.f("ck_assignments_points_not_negative")),
        sa.CheckConstraint(
            "tile IS NULL OR tile BETWEEN 1 AND 1024", name=op.f("ck_assignments_tile_in_range")
        ),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_assignments_course_id_courses")),
        sa.ForeignKeyConstraint(
            ["exercise_digest"], ["exercises.digest"], name=op.f("fk_assignments_exercise_digest_exercises")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("course_id", "slug", name=op.f("uq_assignments_course_id_slug")),
    )
    op.create_table(
        "audit_events",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("actor_id", _ID, nullable=True),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("detail", _DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["actor_id"], ["people.id"], name=op.f("fk_audit_events_actor_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_events")),
    )
    op.create_index(op.f("ix_audit_events_at"), "audit_events", ["at"])
    op.create_index(op.f("ix_audit_events_subject"), "audit_events", ["subject"])

    op.create_table(
        "experiments",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=True),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_experiments_course_id_courses")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_experiments_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
    )
    op.create_table(
        "memberships",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("role", _choice("role", "student", "assistant", "instructor"), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_memberships_course_id_courses")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_memberships_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memberships")),
        sa.UniqueConstraint("course_id", "person_id", name=op.f("uq_memberships_course_id_person_id")),
    )
    op.create_index(op.f("ix_memberships_person_id"), "memberships", ["person_id"])

    op.create_table(
        "submissions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("source_digest", sa.String(length=64), nullable=False),
        sa.Column("mode", _choice("mode", "check", "rank"), nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.CheckConstraint(
            "(idempotency_key IS NULL) = (request_digest IS NULL)",
            name=op.f("ck_submissions_key_with_digest"),
        ),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_submissions_assignment_id_assignments")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_submissions_person_id_people")),
        sa.ForeignKeyConstraint(
            ["source_digest"], ["sources.digest"], name=op.f("fk_submissions_source_digest_sources")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
        sa.UniqueConstraint(
            "person_id", "idempotency_key", name=op.f("uq_submissions_person_id_idempotency_key")
        ),
        sa.UniqueConstraint("public_id", name=op.f("uq_submissions_public_id")),
    )
    op.create_index(
        op.f("ix_submissions_assignment_id_person_id_created_at"),
        "submissions",
        ["assignment_id", "person_id", "created_at"],
    )
    op.create_index(op.f("ix_submissions_person_id"), "submissions", ["person_id"])
    op.create_index(op.f("ix_submissions_source_digest"), "submissions", ["source_digest"])

    op.create_table(
        "jobs",
        sa.Column("id", _ID, nullable=False),
        sa.Column("kind", _choice("jobkind", "submission", "regrade", "experiment"), nullable=False),
        sa.Column("submission_id", _ID, nullable=True),
        sa.Column("experiment_id", _ID, nullable=True),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("source_digest", sa.String(length=64), nullable=False),
        sa.Column("exercise_digest", sa.String(length=64), nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("arch", sa.String(length=16), nullable=False),
        sa.Column("tile", sa.Integer(), nullable=True),
        sa.Column("seed", sa.String(length=32), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("state", _choice("jobstate", "queued", "running", "done", "cancelled"), nullable=False),
        sa.Column("verdict", _choice("verdict", *_VERDICTS), nullable=True),
        sa.Column("queued_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("ended_at", _TIME, nullable=True),
        sa.CheckConstraint(
            "(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))", name=op.f("ck_jobs_ended_when_over")
        ),
        sa.CheckConstraint(
            "(verdict IS NOT NULL) = (state = 'done')", name=op.f("ck_jobs_verdict_when_done")
        ),
        sa.CheckConstraint(
            "(submission_id IS NULL) <> (experiment_id IS NULL)", name=op.f("ck_jobs_one_origin")
        ),
        sa.ForeignKeyConstraint(
            ["exercise_digest"], ["exercises.digest"], name=op.f("fk_jobs_exercise_digest_exercises")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name=op.f("fk_jobs_experiment_id_experiments")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_jobs_person_id_people")),
        sa.ForeignKeyConstraint(
            ["source_digest"], ["sources.digest"], name=op.f("fk_jobs_source_digest_sources")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_jobs_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_experiment_id"), "jobs", ["experiment_id"])
    op.create_index(op.f("ix_jobs_person_id"), "jobs", ["person_id"])
    op.create_index(op.f("ix_jobs_source_digest"), "jobs", ["source_digest"])
    op.create_index(op.f("ix_jobs_submission_id"), "jobs", ["submission_id"])

    op.create_table(
        "results",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("verdict", _choice("verdict", *_VERDICTS), nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.Column("gflops", sa.Double(), nullable=True),
        sa.Column("ms_median", sa.Double(), nullable=True),
        sa.Column("cublas_share", sa.Double(), nullable=True),
        sa.Column("occupancy", sa.Double(), nullable=True),
        sa.Column("ranked", sa.Boolean(), nullable=False),
        sa.Column("recorded_at", _TIME, nullable=False),
        sa.CheckConstraint("length(report) <= 4194304", name=op.f("ck_results_report_bounded")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_results_job_id_jobs")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_results")),
    )
    op.create_index(op.f("ix_results_recorded_at"), "results", ["recorded_at"])
    op.create_index(op.f("ix_results_verdict"), "results", ["verdict"])

    op.create_table(
        "standings",
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("reached_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_standings_assignment_id_assignments")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_standings_job_id_jobs")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_standings_person_id_people")),
        sa.PrimaryKeyConstraint("assignment_id", "device_class", "person_id", name=op.f("pk_standings")),
        sa.UniqueConstraint("job_id", name=op.f("uq_standings_job_id")),
    )
    op.create_index(
        "ix_standings_board",
        "standings",
        ["assignment_id", "device_class", "score", "reached_at", "person_id"],
    )

    op.create_table(
        "steps",
        sa.Column("id", _ID, nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("kind", _choice("stepkind", "check", "measure"), nullable=False),
        sa.Column(
            "state",
            _choice("stepstate", "queued", "sent", "running", "done", "failed", "cancelled"),
            nullable=False,
        ),
        sa.Column("queue", sa.String(length=60), nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("turn", _ID, nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=True),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("work", sa.LargeBinary(), nullable=True),
        sa.Column("queued_at", _TIME, nullable=False),
        sa.Column("not_before", _TIME, nullable=True),
        sa.Column("sent_at", _TIME, nullable=True),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("ended_at", _TIME, nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("fault", sa.String(length=2000), nullable=True),
        sa.CheckConstraint(
            "(token IS NOT NULL) = (state IN ('sent', 'running'))", name=op.f("ck_steps_token_in_flight")
        ),
        sa.CheckConstraint("attempt BETWEEN 0 AND 3", name=op.f("ck_steps_attempts_capped")),
        sa.CheckConstraint("work IS NULL OR length(work) <= 16777216", name=op.f("ck_steps_work_bounded")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_steps_job_id_jobs")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_steps_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint("job_id", "kind", name=op.f("uq_steps_job_id_kind")),
        sa.UniqueConstraint("token", name=op.f("uq_steps_token")),
    )
    op.create_index("ix_steps_ended", "steps", ["queue", "ended_at"])
    op.create_index(
        "ix_steps_in_flight",
        "steps",
        ["queue", "person_id"],
        postgresql_where=_IN_FLIGHT,
        sqlite_where=_IN_FLIGHT,
    )
    op.create_index(
        "ix_steps_next",
        "steps",
        ["queue", "priority", "turn", "id"],
        postgresql_where=_QUEUED,
        sqlite_where=_QUEUED,
    )
    op.create_index(
        "ix_steps_turn_of",
        "steps",
        ["person_id", "queue", "priority", "turn"],
        postgresql_where=_QUEUED,
        sqlite_where=_QUEUED,
    )

    op.create_table(
        "attempts",
        sa.Column("step_id", _ID, nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("sent_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("ended_at", _TIME, nullable=True),
        sa.Column("outcome", _choice("attemptoutcome", "done", "fault", "lost", "cancelled"), nullable=True),
        sa.Column("fault", sa.String(length=2000), nullable=True),
        sa.CheckConstraint("number BETWEEN 1 AND 3", name=op.f("ck_attempts_number_capped")),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_attempts_step_id_steps")),
        sa.PrimaryKeyConstraint("step_id", "number", name=op.f("pk_attempts")),
        sa.UniqueConstraint("token", name=op.f("uq_attempts_token")),
    )


def downgrade() -> None:
    """Drop all tables."""
    tables = (
        "attempts", "steps", "standings", "results", "jobs", "submissions", "memberships", "experiments",
        "audit_events", "assignments", "api_tokens", "workers", "sources", "queue_clocks", "people", "exercises",
        "courses",
    )  # fmt: skip
    for table in tables:
        op.drop_table(table)
