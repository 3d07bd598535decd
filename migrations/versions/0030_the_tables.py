"""All tables, as version 0030 has them.

Revision ID: 0030
"""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0030"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_TABLES = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_needed = partial(sa.Column, nullable=False)


def upgrade() -> None:
    """Create the tables."""
    _TABLES.create_all(op.get_bind())


def downgrade() -> None:
    """Drop them."""
    _TABLES.drop_all(op.get_bind())


def _one_of(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _index_where(name: str, *columns: str, where: str, unique: bool = False) -> sa.Index:
    """An index of the rows for which the condition holds."""
    condition = sa.text(where)
    return sa.Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


sa.Table(
    "courses",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("slug", sa.String(60), unique=True),
    _needed("title", sa.String(200)),
    _needed("created_at", _TIME),
    sa.Column("archived_at", _TIME),
    sa.Column("enrolment_code", sa.String(40), unique=True),
    _needed("time_zone", sa.String(64)),
    _needed("late_days", sa.Integer()),
    sa.CheckConstraint("late_days >= 0", name="late_days_not_negative"),
)
sa.Table(
    "people",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("email", sa.String(254), unique=True),
    _needed("name", sa.String(200)),
    sa.Column("password", sa.String(200)),
    _needed("created_at", _TIME),
    sa.Column("disabled_at", _TIME),
    sa.Column("erased_at", _TIME),
    _needed("admin", sa.Boolean()),
    _needed("creates_courses", sa.Boolean()),
    sa.Column("pseudonym", sa.String(40), unique=True),
    _needed("made_name", sa.String(40), unique=True),
    _needed("shows_name", sa.Boolean()),
    _needed("listed", sa.Boolean()),
    sa.Column("proven_at", _TIME),
    _needed("time_zone", sa.String(64)),
    _needed("mails_off", sa.String(100)),
    sa.CheckConstraint("email = lower(email)", name="email_in_small_letters"),
)
sa.Table(
    "queue_clocks",
    _TABLES,
    sa.Column("queue", sa.String(60), primary_key=True),
    sa.Column("priority", sa.SmallInteger(), primary_key=True),
    _needed("turn", _ID),
)
sa.Table(
    "rate_counts",
    _TABLES,
    sa.Column("subject", sa.String(120), primary_key=True),
    sa.Column("action", sa.String(40), primary_key=True),
    sa.Column("window", sa.BigInteger(), primary_key=True),
    _needed("count", sa.Integer()),
)
sa.Table(
    "sources",
    _TABLES,
    sa.Column("digest", sa.String(64), primary_key=True),
    _needed("content", sa.LargeBinary()),
    _needed("added_at", _TIME),
    sa.CheckConstraint("length(content) <= 65536", name="content_bounded"),
)
sa.Table(
    "worker_keys",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("name", sa.String(40), index=True),
    _needed("queues", sa.String(500)),
    _needed("password_digest", sa.String(64)),
    _needed("key", sa.String(64)),
    _needed("added_at", _TIME),
    sa.Column("valid_until", _TIME),
)
sa.Table(
    "workers",
    _TABLES,
    sa.Column("id", sa.String(100), primary_key=True),
    _needed("host", sa.String(255)),
    _needed("state", sa.String(16)),
    _needed("record", _JSON),
    _needed("first_seen", _TIME),
    _needed("last_beat", _TIME),
)
sa.Table(
    "api_tokens",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("name", sa.String(100)),
    _needed("digest", sa.String(64), unique=True),
    _needed("created_at", _TIME),
    sa.Column("expires_at", _TIME),
    sa.Column("used_at", _TIME),
    sa.Column("revoked_at", _TIME),
    _needed("scopes", sa.String(60)),
)
sa.Table(
    "audit_events",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("at", _TIME, index=True),
    sa.Column("actor_id", _ID, sa.ForeignKey("people.id")),
    _needed("action", sa.String(60)),
    _needed("subject", sa.String(200), index=True),
    _needed("detail", _JSON),
    sa.Column("course_id", _ID, sa.ForeignKey("courses.id")),
    sa.Index("ix_audit_events_course_id_id", "course_id", "id"),
)
sa.Table(
    "browser_sessions",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("digest", sa.String(64), unique=True),
    _needed("user_agent", sa.String(200)),
    _needed("created_at", _TIME),
    _needed("used_at", _TIME),
    _needed("expires_at", _TIME),
    sa.Column("ended_at", _TIME),
    sa.Column("viewing_id", _ID, sa.ForeignKey("people.id")),
    sa.Column("viewing_course_id", _ID),
)
sa.Table(
    "course_invitations",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("email", sa.String(254)),
    _needed("name", sa.String(200)),
    _needed("role", sa.String(32)),
    _needed("section", sa.String(60)),
    _needed("invited_by", _ID, sa.ForeignKey("people.id")),
    _needed("created_at", _TIME),
    sa.Column("refused_at", _TIME),
    sa.UniqueConstraint("course_id", "person_id"),
)
sa.Table(
    "exercises",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    sa.Column("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("name", sa.String(60)),
    _needed("version", sa.String(64)),
    _needed("digest", sa.String(64), index=True),
    _needed("title", sa.String(200)),
    _needed("definition", sa.Text()),
    _needed("added_at", _TIME),
    sa.Column("added_by", _ID, sa.ForeignKey("people.id")),
    sa.Column("number", sa.Integer()),
    sa.Column("published_at", _TIME),
    sa.CheckConstraint("(number IS NULL) = (published_at IS NULL)", name="published_has_number"),
    sa.UniqueConstraint("course_id", "name", "number", "digest"),
    sa.UniqueConstraint("course_id", "name", "version"),
    _index_where(
        "uq_exercises_draft",
        "course_id",
        "name",
        where="course_id IS NOT NULL AND number IS NULL",
        unique=True,
    ),
    _index_where("uq_exercises_shipped", "name", "version", where="course_id IS NULL", unique=True),
)
sa.Table(
    "mails",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("person_id", _ID, sa.ForeignKey("people.id")),
    _needed("kind", sa.String(32)),
    _needed("reference", sa.String(100)),
    _needed("subject", sa.String(300)),
    _needed("path", sa.String(300)),
    _needed("made_at", _TIME, index=True),
    sa.Column("next_at", _TIME),
    _needed("tries", sa.Integer()),
    sa.Column("sent_at", _TIME),
    sa.UniqueConstraint("person_id", "reference"),
    _index_where("ix_mails_waiting", "next_at", where="next_at IS NOT NULL"),
)
sa.Table(
    "memberships",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("role", _one_of("role", "student", "assistant", "instructor")),
    _needed("created_at", _TIME),
    _needed("section", sa.String(60)),
    sa.Column("dropped_at", _TIME),
    sa.UniqueConstraint("course_id", "person_id"),
)
sa.Table(
    "one_time_links",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("purpose", _one_of("linkpurpose", "invitation", "reset")),
    _needed("digest", sa.String(64), unique=True),
    sa.Column("created_by", _ID, sa.ForeignKey("people.id")),
    _needed("created_at", _TIME),
    _needed("expires_at", _TIME),
    sa.Column("used_at", _TIME),
)
sa.Table(
    "staff_notes",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    sa.Column("author_id", _ID, sa.ForeignKey("people.id")),
    _needed("text", sa.String(2000)),
    _needed("created_at", _TIME),
    sa.Index("ix_staff_notes_course_id_person_id_id", "course_id", "person_id", "id"),
)
sa.Table(
    "assignments",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("exercise_id", _ID, sa.ForeignKey("exercises.id")),
    _needed("slug", sa.String(60)),
    _needed("title", sa.String(200)),
    _needed("device_class", sa.String(48)),
    _needed("arch", sa.String(16)),
    sa.Column("tile", sa.Integer()),
    _needed("points", sa.Double()),
    sa.Column("opens_at", _TIME),
    sa.Column("due_at", _TIME),
    _needed("created_at", _TIME),
    _needed("listed", sa.Boolean()),
    sa.Column("closes_at", _TIME),
    _needed("late_percent_per_day", sa.Double()),
    sa.Column("attempts", sa.Integer()),
    _needed("min_interval_seconds", sa.Integer()),
    _needed("checks_per_hour", sa.Integer()),
    _needed("counts", _one_of("counts", "best", "last", "chosen")),
    sa.Column("board_frozen_at", _TIME),
    _needed("grades_held", sa.Boolean()),
    _needed("late_percent_most", sa.Double()),
    _needed("goals_percent", sa.Double()),
    sa.Column("speed_by", sa.String(32)),
    _needed("speed_tiers", sa.String(200)),
    _needed("rubric", sa.Text()),
    sa.Column("position", sa.Integer()),
    _needed("board_columns", sa.String(100)),
    _needed("board_sort", sa.String(100)),
    sa.CheckConstraint("attempts IS NULL OR attempts > 0", name="attempts_positive"),
    sa.CheckConstraint("checks_per_hour >= 0", name="checks_not_negative"),
    sa.CheckConstraint(
        "closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at", name="due_before_closes"
    ),
    sa.CheckConstraint("goals_percent BETWEEN 0 AND 100", name="goals_percent_in_range"),
    sa.CheckConstraint("min_interval_seconds >= 0", name="interval_not_negative"),
    sa.CheckConstraint("late_percent_per_day BETWEEN 0 AND 100", name="late_percent_in_range"),
    sa.CheckConstraint("late_percent_most BETWEEN 0 AND 100", name="late_percent_most_in_range"),
    sa.CheckConstraint("due_at IS NULL OR opens_at IS NULL OR opens_at < due_at", name="opens_before_due"),
    sa.CheckConstraint("points >= 0", name="points_not_negative"),
    sa.CheckConstraint("tile IS NULL OR tile BETWEEN 1 AND 1024", name="tile_in_range"),
    sa.UniqueConstraint("course_id", "slug"),
)
sa.Table(
    "exercise_files",
    _TABLES,
    sa.Column("exercise_id", _ID, sa.ForeignKey("exercises.id"), primary_key=True),
    sa.Column("name", sa.String(100), primary_key=True),
    _needed("content", sa.LargeBinary()),
    sa.CheckConstraint("length(content) <= 4194304", name="content_bounded"),
)
sa.Table(
    "announcements",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("course_id", _ID, sa.ForeignKey("courses.id")),
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id")),
    sa.Column("author_id", _ID, sa.ForeignKey("people.id")),
    _needed("title", sa.String(200)),
    _needed("text", sa.Text()),
    _needed("created_at", _TIME),
    sa.Column("changed_at", _TIME),
    sa.Column("withdrawn_at", _TIME),
    sa.Index("ix_announcements_course_id_id", "course_id", "id"),
)
sa.Table(
    "corrections",
    _TABLES,
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), primary_key=True),
    sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True, index=True),
    sa.Column("score", sa.Double()),
    _needed("excused", sa.Boolean()),
    _needed("held", sa.Boolean()),
    _needed("reason", sa.String(500)),
    sa.Column("corrected_by", _ID, sa.ForeignKey("people.id")),
    _needed("corrected_at", _TIME),
    sa.CheckConstraint("score IS NULL OR score >= 0", name="score_not_negative"),
    sa.CheckConstraint("score IS NULL OR NOT excused", name="score_or_excused"),
)
sa.Table(
    "extension_requests",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("assignment_id", _ID, sa.ForeignKey("assignments.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("wanted_at", _TIME),
    _needed("reason", sa.String(2000)),
    _needed("created_at", _TIME),
    sa.Column("granted", sa.Boolean()),
    _needed("answer", sa.String(2000)),
    sa.Column("answered_by", _ID, sa.ForeignKey("people.id")),
    sa.Column("answered_at", _TIME),
    sa.CheckConstraint("(granted IS NULL) = (answered_at IS NULL)", name="answered_once"),
    sa.Index("ix_extension_requests_assignment_id_person_id_id", "assignment_id", "person_id", "id"),
    _index_where(
        "uq_extension_requests_open", "assignment_id", "person_id", where="answered_at IS NULL", unique=True
    ),
    sqlite_autoincrement=True,
)
sa.Table(
    "extensions",
    _TABLES,
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), primary_key=True),
    sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True, index=True),
    sa.Column("due_at", _TIME),
    sa.Column("closes_at", _TIME),
    _needed("extra_attempts", sa.Integer()),
    _needed("reason", sa.String(500)),
    sa.Column("granted_by", _ID, sa.ForeignKey("people.id")),
    _needed("created_at", _TIME),
    sa.CheckConstraint("extra_attempts >= 0", name="attempts_not_negative"),
    sa.CheckConstraint(
        "closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at", name="due_before_closes"
    ),
)
sa.Table(
    "staged_regrades",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("assignment_id", _ID, sa.ForeignKey("assignments.id"), unique=True),
    sa.Column("started_by", _ID, sa.ForeignKey("people.id")),
    _needed("started_at", _TIME),
    _needed("filter", sa.Text()),
    sa.Column("exercise_id", _ID, sa.ForeignKey("exercises.id")),
)
sa.Table(
    "standing_counts",
    _TABLES,
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), primary_key=True),
    sa.Column("device_class", sa.String(48), primary_key=True),
    sa.Column("before_freeze", sa.Boolean(), primary_key=True),
    sa.Column("bucket", sa.Integer(), primary_key=True, autoincrement=False),
    _needed("count", sa.Integer()),
    _needed("listed", sa.Integer()),
)
sa.Table(
    "submissions",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("public_id", sa.String(32), unique=True),
    _needed("assignment_id", _ID, sa.ForeignKey("assignments.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("source_digest", sa.String(64), sa.ForeignKey("sources.digest"), index=True),
    _needed("mode", _one_of("mode", "check", "rank")),
    _needed("device_class", sa.String(48)),
    sa.Column("idempotency_key", sa.String(200)),
    sa.Column("request_digest", sa.String(64)),
    _needed("created_at", _TIME),
    sa.Column("chosen_at", _TIME),
    sa.Column(
        "judged_job_id",
        _ID,
        sa.ForeignKey("jobs.id", use_alter=True, deferrable=True, initially="DEFERRED"),
        index=True,
    ),
    sa.Column("verdict", sa.String(32)),
    _needed("late_days", sa.Integer()),
    sa.CheckConstraint("(idempotency_key IS NULL) = (request_digest IS NULL)", name="key_with_digest"),
    sa.UniqueConstraint("person_id", "idempotency_key"),
    sa.Index("ix_submissions_assignment_id_created_at", "assignment_id", "created_at"),
    sa.Index("ix_submissions_assignment_id_person_id_created_at", "assignment_id", "person_id", "created_at"),
    sa.Index("ix_submissions_outcome", "assignment_id", "person_id", "mode", "verdict", "created_at"),
)
sa.Table(
    "comments",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("submission_id", _ID, sa.ForeignKey("submissions.id")),
    sa.Column("thread_id", _ID, sa.ForeignKey("comments.id"), index=True),
    sa.Column("line", sa.Integer()),
    sa.Column("author_id", _ID, sa.ForeignKey("people.id")),
    _needed("by_staff", sa.Boolean()),
    _needed("text", sa.String(4000)),
    _needed("created_at", _TIME),
    sa.Column("removed_at", _TIME),
    sa.Column("waits_since", _TIME),
    sa.Column("news_since", _TIME),
    sa.CheckConstraint("line IS NULL OR (line > 0 AND thread_id IS NULL)", name="line_of_thread"),
    _index_where("ix_comments_news", "submission_id", where="news_since IS NOT NULL"),
    sa.Index("ix_comments_submission_id_id", "submission_id", "id"),
    _index_where("ix_comments_waiting", "waits_since", where="waits_since IS NOT NULL"),
)
sa.Table(
    "exact_copies",
    _TABLES,
    sa.Column("submission_id", _ID, sa.ForeignKey("submissions.id"), primary_key=True),
    _needed("of_id", _ID, sa.ForeignKey("submissions.id"), index=True),
    _needed("assignment_id", _ID, sa.ForeignKey("assignments.id"), index=True),
)
sa.Table(
    "experiments",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("public_id", sa.String(32), unique=True),
    sa.Column("course_id", _ID, sa.ForeignKey("courses.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("name", sa.String(200)),
    _needed("plan", _JSON),
    _needed("state", _one_of("experimentstate", "running", "done", "cancelled")),
    sa.Column("exercise_id", _ID, sa.ForeignKey("exercises.id")),
    _needed("device_class", sa.String(48)),
    _needed("arch", sa.String(16)),
    _needed("points", sa.Integer()),
    _needed("begun", sa.Integer()),
    _needed("ended", sa.Integer()),
    _needed("tunes", sa.Boolean()),
    _needed("pauses", sa.Boolean()),
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id")),
    sa.Column("submission_id", _ID, sa.ForeignKey("submissions.id"), index=True),
    sa.Column("shared_at", _TIME),
    sa.Column("pinned_id", _ID, sa.ForeignKey("assignments.id"), index=True),
    _needed("created_at", _TIME),
    sa.Column("ended_at", _TIME),
    sa.CheckConstraint("ended <= begun AND begun <= points", name="counts_ordered"),
    sa.CheckConstraint("(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))", name="ended_when_over"),
    sa.CheckConstraint("pinned_id IS NULL OR shared_at IS NOT NULL", name="pinned_is_shared"),
    sa.Index("ix_experiments_assignment_id_person_id_created_at", "assignment_id", "person_id", "created_at"),
    sa.Index("ix_experiments_course_id_id", "course_id", "id"),
    _index_where("ix_experiments_running", "id", where="state = 'running'"),
)
sa.Table(
    "looked_at_pairs",
    _TABLES,
    sa.Column("left_id", _ID, sa.ForeignKey("submissions.id"), primary_key=True),
    sa.Column("right_id", _ID, sa.ForeignKey("submissions.id"), primary_key=True, index=True),
    _needed("note", sa.String(500)),
    sa.Column("looked_by", _ID, sa.ForeignKey("people.id")),
    _needed("looked_at", _TIME),
    sa.CheckConstraint("left_id < right_id", name="left_is_lower"),
)
sa.Table(
    "regrade_requests",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("submission_id", _ID, sa.ForeignKey("submissions.id")),
    _needed("reason", sa.String(2000)),
    _needed("created_at", _TIME),
    sa.Column("granted", sa.Boolean()),
    _needed("answer", sa.String(2000)),
    sa.Column("answered_by", _ID, sa.ForeignKey("people.id")),
    sa.Column("answered_at", _TIME),
    sa.CheckConstraint("(granted IS NULL) = (answered_at IS NULL)", name="answered_once"),
    sa.Index("ix_regrade_requests_submission_id_id", "submission_id", "id"),
    _index_where("uq_regrade_requests_open", "submission_id", where="answered_at IS NULL", unique=True),
)
sa.Table(
    "rubric_grades",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("assignment_id", _ID, sa.ForeignKey("assignments.id")),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("submission_id", _ID, sa.ForeignKey("submissions.id"), index=True),
    _needed("points", _JSON),
    _needed("words", _JSON),
    sa.Column("graded_by", _ID, sa.ForeignKey("people.id")),
    _needed("graded_at", _TIME),
    sa.UniqueConstraint("assignment_id", "person_id"),
)
sa.Table(
    "seen_announcements",
    _TABLES,
    sa.Column("announcement_id", _ID, sa.ForeignKey("announcements.id"), primary_key=True),
    sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True, index=True),
    _needed("seen_at", _TIME),
)
sa.Table(
    "experiment_submissions",
    _TABLES,
    sa.Column("experiment_id", _ID, sa.ForeignKey("experiments.id"), primary_key=True),
    sa.Column("kernel", sa.String(200), primary_key=True),
    _needed("submission_id", _ID, sa.ForeignKey("submissions.id"), index=True),
)
sa.Table(
    "jobs",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("kind", _one_of("jobkind", "submission", "regrade", "experiment", "proof")),
    sa.Column("submission_id", _ID, sa.ForeignKey("submissions.id"), index=True),
    sa.Column("experiment_id", _ID, sa.ForeignKey("experiments.id"), index=True),
    sa.Column("regrade_id", _ID, sa.ForeignKey("staged_regrades.id")),
    sa.Column("staged_for_id", _ID, sa.ForeignKey("submissions.id"), index=True),
    sa.Column("proof_file", sa.String(100)),
    _needed("person_id", _ID, sa.ForeignKey("people.id"), index=True),
    _needed("source_digest", sa.String(64), sa.ForeignKey("sources.digest"), index=True),
    _needed("exercise_id", _ID, sa.ForeignKey("exercises.id")),
    _needed("device_class", sa.String(48)),
    _needed("arch", sa.String(16)),
    sa.Column("tile", sa.Integer()),
    _needed("seed", sa.String(32)),
    _needed("priority", sa.SmallInteger()),
    _needed("state", _one_of("jobstate", "queued", "running", "done", "cancelled")),
    sa.Column("verdict", sa.String(32)),
    _needed("queued_at", _TIME),
    sa.Column("started_at", _TIME),
    sa.Column("ended_at", _TIME),
    sa.CheckConstraint("(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))", name="ended_when_over"),
    sa.CheckConstraint(
        "(CASE WHEN submission_id IS NULL THEN 0 ELSE 1 END) + "
        "(CASE WHEN experiment_id IS NULL THEN 0 ELSE 1 END) + "
        "(CASE WHEN regrade_id IS NULL THEN 0 ELSE 1 END) + "
        "(CASE WHEN proof_file IS NULL THEN 0 ELSE 1 END) = 1",
        name="one_origin",
    ),
    sa.CheckConstraint("(regrade_id IS NULL) = (staged_for_id IS NULL)", name="staged_for_a_submission"),
    sa.CheckConstraint("(verdict IS NOT NULL) = (state = 'done')", name="verdict_when_done"),
    sa.UniqueConstraint("regrade_id", "staged_for_id"),
    _index_where("ix_jobs_proof", "exercise_id", where="proof_file IS NOT NULL"),
)
sa.Table(
    "experiment_points",
    _TABLES,
    sa.Column("experiment_id", _ID, sa.ForeignKey("experiments.id"), primary_key=True),
    sa.Column("number", sa.Integer(), primary_key=True),
    _needed("variant", sa.String(64)),
    sa.Column("job_id", _ID, sa.ForeignKey("jobs.id"), unique=True),
    sa.Column("verdict", sa.String(32)),
    sa.Column("tile", sa.Integer()),
    sa.Column("result", sa.LargeBinary()),
    sa.CheckConstraint("result IS NULL OR length(result) <= 65536", name="result_bounded"),
    sa.CheckConstraint("(verdict IS NULL) = (result IS NULL)", name="verdict_with_result"),
    sa.Index("ix_experiment_points_experiment_id_variant", "experiment_id", "variant"),
    _index_where("ix_experiment_points_failed", "experiment_id", where="verdict = 'system_error'"),
    _index_where("ix_experiment_points_open", "experiment_id", "number", where="verdict IS NULL"),
)
sa.Table(
    "results",
    _TABLES,
    sa.Column("job_id", _ID, sa.ForeignKey("jobs.id"), primary_key=True),
    _needed("verdict", sa.String(32), index=True),
    _needed("device_class", sa.String(48)),
    _needed("report", sa.LargeBinary()),
    sa.Column("gflops", sa.Double()),
    sa.Column("ms_median", sa.Double()),
    sa.Column("ms_low", sa.Double()),
    sa.Column("ms_high", sa.Double()),
    sa.Column("gbps", sa.Double()),
    sa.Column("melements", sa.Double()),
    _needed("launch", sa.String(80)),
    _needed("tile", sa.Integer()),
    sa.Column("bound_ms", sa.Double()),
    sa.Column("bound_gflops", sa.Double()),
    _needed("not_ranked", sa.String(500)),
    sa.Column("cublas_share", sa.Double()),
    sa.Column("occupancy", sa.Double()),
    _needed("ranked", sa.Boolean()),
    sa.Column("goals_missed", sa.Integer()),
    _needed("recorded_at", _TIME, index=True),
    sa.CheckConstraint("length(report) <= 4194304", name="report_bounded"),
)
sa.Table(
    "standings",
    _TABLES,
    sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), primary_key=True),
    sa.Column("device_class", sa.String(48), primary_key=True),
    sa.Column("before_freeze", sa.Boolean(), primary_key=True),
    sa.Column("person_id", _ID, sa.ForeignKey("people.id"), primary_key=True),
    _needed("job_id", _ID, sa.ForeignKey("jobs.id"), index=True),
    _needed("score", sa.Double()),
    _needed("low", sa.Double()),
    _needed("high", sa.Double()),
    _needed("reached_at", _TIME),
    _needed("lot", sa.BigInteger()),
    _needed("cublas_share", sa.Double()),
    _needed("occupancy", sa.Double()),
    _needed("tile", sa.Integer()),
    _needed("launch", sa.String(80)),
    _needed("bound", sa.Double()),
    _needed("listed", sa.Boolean()),
    sa.Index(
        "ix_standings_board", "assignment_id", "device_class", "before_freeze", "score", "reached_at", "lot"
    ),
    sa.Index(
        "ix_standings_cublas_share", "assignment_id", "device_class", "before_freeze", "cublas_share", "lot"
    ),
    sa.Index("ix_standings_occupancy", "assignment_id", "device_class", "before_freeze", "occupancy", "lot"),
    sa.Index(
        "ix_standings_reached_at", "assignment_id", "device_class", "before_freeze", "reached_at", "lot"
    ),
)
sa.Table(
    "steps",
    _TABLES,
    sa.Column("id", _ID, primary_key=True),
    _needed("job_id", _ID, sa.ForeignKey("jobs.id")),
    _needed("kind", _one_of("stepkind", "check", "measure")),
    _needed("state", _one_of("stepstate", "queued", "sent", "running", "done", "failed", "cancelled")),
    _needed("queue", sa.String(60)),
    _needed("person_id", _ID, sa.ForeignKey("people.id")),
    _needed("priority", sa.SmallInteger()),
    _needed("turn", _ID),
    _needed("attempt", sa.SmallInteger()),
    sa.Column("token", sa.String(32), unique=True),
    sa.Column("worker", sa.String(100)),
    sa.Column("work", sa.LargeBinary()),
    sa.Column("digests", sa.Text()),
    sa.Column("work_digest", sa.String(64)),
    _needed("queued_at", _TIME),
    sa.Column("not_before", _TIME),
    sa.Column("sent_at", _TIME),
    sa.Column("started_at", _TIME),
    sa.Column("ended_at", _TIME),
    sa.Column("seconds", sa.Double()),
    sa.Column("fault", sa.String(2000)),
    sa.CheckConstraint("attempt BETWEEN 0 AND 3", name="attempts_capped"),
    sa.CheckConstraint("(token IS NOT NULL) = (state IN ('sent', 'running'))", name="token_in_flight"),
    sa.CheckConstraint("work IS NULL OR length(work) <= 16777216", name="work_bounded"),
    sa.UniqueConstraint("job_id", "kind"),
    sa.Index("ix_steps_ended", "queue", "ended_at"),
    _index_where("ix_steps_in_flight", "queue", "person_id", where="state IN ('sent', 'running')"),
    _index_where("ix_steps_next", "queue", "priority", "turn", "id", where="state = 'queued'"),
    _index_where("ix_steps_turn_of", "person_id", "queue", "priority", "turn", where="state = 'queued'"),
)
sa.Table(
    "attempts",
    _TABLES,
    sa.Column("step_id", _ID, sa.ForeignKey("steps.id"), primary_key=True),
    sa.Column("number", sa.SmallInteger(), primary_key=True),
    _needed("token", sa.String(32), unique=True),
    sa.Column("worker", sa.String(100)),
    _needed("sent_at", _TIME),
    sa.Column("started_at", _TIME),
    sa.Column("ended_at", _TIME),
    sa.Column("outcome", _one_of("attemptoutcome", "done", "fault", "lost", "cancelled")),
    sa.Column("fault", sa.String(2000)),
    sa.CheckConstraint("number BETWEEN 1 AND 3", name="number_capped"),
)
