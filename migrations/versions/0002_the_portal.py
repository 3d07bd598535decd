"""The portal's data: sessions, one-time links, limits, extensions, frozen leaderboards.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_STANDING = "assignment_id, device_class, person_id, job_id, score, reached_at"


def _choice(name: str, *values: str) -> sa.Enum:
    """Return a text column type with a constraint on its values."""
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _later(table: str, *columns: sa.Column[object]) -> None:
    """Add columns that must not be empty. Existing rows get a default, which new rows don't have."""
    with op.batch_alter_table(table) as batch:
        for column in columns:
            batch.add_column(column)
    with op.batch_alter_table(table) as batch:
        for column in columns:
            if column.server_default is not None:
                batch.alter_column(column.name, server_default=None)


def upgrade() -> None:
    """Upgrade to this version."""
    _people()
    _courses()
    _submissions()
    _standings(before_freeze=True)


def _people() -> None:
    _later(
        "people",
        sa.Column("admin", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("pseudonym", sa.String(length=40), nullable=True),
        sa.Column("shows_name", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("time_zone", sa.String(length=64), nullable=False, server_default=""),
    )
    with op.batch_alter_table("people") as people:
        people.create_unique_constraint(op.f("uq_people_pseudonym"), ["pseudonym"])
    op.create_table(
        "one_time_links",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("purpose", _choice("linkpurpose", "invitation", "reset"), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_by", _ID, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("used_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by"], ["people.id"], name=op.f("fk_one_time_links_created_by_people")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_one_time_links_person_id_people")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_links")),
        sa.UniqueConstraint("digest", name=op.f("uq_one_time_links_digest")),
    )
    op.create_index(op.f("ix_one_time_links_person_id"), "one_time_links", ["person_id"])
    op.create_table(
        "browser_sessions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_agent", sa.String(length=200), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("used_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("ended_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_browser_sessions_person_id_people")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_browser_sessions_digest")),
    )
    op.create_index(op.f("ix_browser_sessions_person_id"), "browser_sessions", ["person_id"])
    op.create_table(
        "rate_counts",
        sa.Column("subject", sa.String(length=120), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "action", "window", name=op.f("pk_rate_counts")),
    )


def _courses() -> None:
    _later(
        "courses",
        sa.Column("enrolment_code", sa.String(length=40), nullable=True),
        sa.Column("time_zone", sa.String(length=64), nullable=False, server_default="UTC"),
    )
    with op.batch_alter_table("courses") as courses:
        courses.create_unique_constraint(op.f("uq_courses_enrolment_code"), ["enrolment_code"])
    _later(
        "memberships",
        sa.Column("section", sa.String(length=60), nullable=False, server_default=""),
        sa.Column("dropped_at", _TIME, nullable=True),
    )
    _later(
        "assignments",
        sa.Column("listed", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("closes_at", _TIME, nullable=True),
        sa.Column("late_percent_per_day", sa.Double(), nullable=False, server_default="0"),
        sa.Column("attempts", sa.Integer(), nullable=True),
        sa.Column("min_interval_seconds", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("checks_per_hour", sa.Integer(), nullable=False, server_default="30"),
        sa.Column("counts", sa.String(length=32), nullable=False, server_default="best"),
        sa.Column("board_frozen_at", _TIME, nullable=True),
    )
    with op.batch_alter_table("assignments") as assignments:
        assignments.create_check_constraint(
            op.f("ck_assignments_counts"), "counts IN ('best', 'last', 'chosen')"
        )
        assignments.create_check_constraint(
            op.f("ck_assignments_due_before_closes"),
            "closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at",
        )
        assignments.create_check_constraint(
            op.f("ck_assignments_late_percent_in_range"), "late_percent_per_day BETWEEN 0 AND 100"
        )
        assignments.create_check_constraint(
            op.f("ck_assignments_attempts_positive"), "attempts IS NULL OR attempts > 0"
        )
        assignments.create_check_constraint(
            op.f("ck_assignments_interval_not_negative"), "min_interval_seconds >= 0"
        )
        assignments.create_check_constraint(
            op.f("ck_assignments_checks_not_negative"), "checks_per_hour >= 0"
        )
    op.create_table(
        "extensions",
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("due_at", _TIME, nullable=True),
        sa.Column("closes_at", _TIME, nullable=True),
        sa.Column("extra_attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("granted_by", _ID, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.CheckConstraint(
            "closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at",
            name=op.f("ck_extensions_due_before_closes"),
        ),
        sa.CheckConstraint("extra_attempts >= 0", name=op.f("ck_extensions_attempts_not_negative")),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_extensions_assignment_id_assignments")
        ),
        sa.ForeignKeyConstraint(["granted_by"], ["people.id"], name=op.f("fk_extensions_granted_by_people")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_extensions_person_id_people")),
        sa.PrimaryKeyConstraint("assignment_id", "person_id", name=op.f("pk_extensions")),
    )
    op.create_index(op.f("ix_extensions_person_id"), "extensions", ["person_id"])


def _submissions() -> None:
    _later("submissions", sa.Column("chosen_at", _TIME, nullable=True))
    op.create_index(
        op.f("ix_submissions_assignment_id_created_at"), "submissions", ["assignment_id", "created_at"]
    )
    _later(
        "results",
        sa.Column("ms_low", sa.Double(), nullable=True),
        sa.Column("ms_high", sa.Double(), nullable=True),
        sa.Column("gbps", sa.Double(), nullable=True),
        sa.Column("launch", sa.String(length=80), nullable=False, server_default=""),
    )


def _standings(*, before_freeze: bool) -> None:
    """Rebuild the table, because its key gains or loses a column."""
    key = ["assignment_id", "device_class", *(["before_freeze"] if before_freeze else [])]
    more: list[sa.Column[bool]] = (
        [sa.Column("before_freeze", sa.Boolean(), nullable=False)] if before_freeze else []
    )
    only = "" if before_freeze else " WHERE NOT before_freeze"
    op.execute(f"CREATE TEMPORARY TABLE kept_standings AS SELECT {_STANDING} FROM standings{only}")  # noqa: S608 - our own words
    op.drop_table("standings")
    op.create_table(
        "standings",
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("device_class", sa.String(length=48), nullable=False),
        *more,
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("reached_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_standings_assignment_id_assignments")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_standings_job_id_jobs")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_standings_person_id_people")),
        sa.PrimaryKeyConstraint(*key, "person_id", name=op.f("pk_standings")),
        *([] if before_freeze else [sa.UniqueConstraint("job_id", name=op.f("uq_standings_job_id"))]),
    )
    if before_freeze:
        op.create_index(op.f("ix_standings_job_id"), "standings", ["job_id"])
    op.create_index("ix_standings_board", "standings", [*key, "score", "reached_at", "person_id"])
    into, values = (
        (f"before_freeze, {_STANDING}", f"false, {_STANDING}") if before_freeze else (_STANDING, _STANDING)
    )
    op.execute(f"INSERT INTO standings ({into}) SELECT {values} FROM kept_standings")  # noqa: S608 - our own words
    op.execute("DROP TABLE kept_standings")


def downgrade() -> None:
    """Go back to the version before."""
    _standings(before_freeze=False)
    op.drop_index(op.f("ix_submissions_assignment_id_created_at"), "submissions")
    for table in ("extensions", "rate_counts", "browser_sessions", "one_time_links"):
        op.drop_table(table)
    checks = {"assignments": ("counts", "due_before_closes", "late_percent_in_range", "attempts_positive",
                              "interval_not_negative", "checks_not_negative")}  # fmt: skip
    gone = {
        "results": ("ms_low", "ms_high", "gbps", "launch"),
        "submissions": ("chosen_at",),
        "assignments": ("listed", "closes_at", "late_percent_per_day", "attempts", "min_interval_seconds",
                        "checks_per_hour", "counts", "board_frozen_at"),
        "memberships": ("section", "dropped_at"),
        "courses": ("enrolment_code", "time_zone"),
        "people": ("admin", "pseudonym", "shows_name", "time_zone"),
    }  # fmt: skip
    unique = {"courses": "uq_courses_enrolment_code", "people": "uq_people_pseudonym"}
    for table, columns in gone.items():
        with op.batch_alter_table(table) as batch:
            for check in checks.get(table, ()):
                batch.drop_constraint(op.f(f"ck_{table}_{check}"), type_="check")
            if table in unique:
                batch.drop_constraint(op.f(unique[table]), type_="unique")
            for column in columns:
                batch.drop_column(column)
