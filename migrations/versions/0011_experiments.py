"""Experiments that workers run, and their points.

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_RUNNING = sa.text("state = 'running'")
_OPEN = sa.text("verdict IS NULL")
_KEYS = {"exercise_id": "exercises", "assignment_id": "assignments", "submission_id": "submissions",
         "pinned_id": "assignments"}  # fmt: skip
_CHECKS = {
    "experimentstate": "state IN ('running', 'done', 'cancelled')",
    "counts_ordered": "ended <= begun AND begun <= points",
    "ended_when_over": "(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))",
    "pinned_is_shared": "pinned_id IS NULL OR shared_at IS NOT NULL",
}
_INDEXES = (
    ("person_id",),
    ("submission_id",),
    ("pinned_id",),
    ("course_id", "id"),
    ("assignment_id", "person_id", "created_at"),
)
_old = sa.table("experiments", sa.column("id", _ID), sa.column("public_id"))


def upgrade() -> None:
    """Upgrade to this version."""
    # No version before this one ran experiments: a row there is a plan that never began.
    with op.batch_alter_table("experiments") as table:
        table.add_column(sa.Column("public_id", sa.String(length=32), nullable=True))
        table.add_column(sa.Column("state", sa.String(length=32), nullable=False, server_default="cancelled"))
        table.add_column(sa.Column("exercise_id", _ID, nullable=True))
        table.add_column(sa.Column("device_class", sa.String(length=48), nullable=False, server_default=""))
        table.add_column(sa.Column("arch", sa.String(length=16), nullable=False, server_default=""))
        for name in ("points", "begun", "ended"):
            table.add_column(sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("pauses", sa.Boolean(), nullable=False, server_default=sa.false()))
        for name in ("assignment_id", "submission_id", "pinned_id"):
            table.add_column(sa.Column(name, _ID, nullable=True))
        for name in ("shared_at", "ended_at"):
            table.add_column(sa.Column(name, _TIME, nullable=True))
    op.execute("UPDATE experiments SET ended_at = created_at")
    for number in op.get_bind().scalars(sa.select(_old.c.id)).all():
        op.execute(sa.update(_old).where(_old.c.id == number).values(public_id=secrets.token_hex(8)))
    with op.batch_alter_table("experiments") as table:
        table.alter_column("public_id", existing_type=sa.String(length=32), nullable=False)
        for name in ("state", "device_class", "arch", "points", "begun", "ended", "pauses"):
            table.alter_column(name, server_default=None)
        table.create_unique_constraint(op.f("uq_experiments_public_id"), ["public_id"])
        for name, condition in _CHECKS.items():
            table.create_check_constraint(op.f(f"ck_experiments_{name}"), sa.text(condition))
        for name, there in _KEYS.items():
            table.create_foreign_key(op.f(f"fk_experiments_{name}_{there}"), there, [name], ["id"])
    for columns in _INDEXES:
        op.create_index(op.f(f"ix_experiments_{'_'.join(columns)}"), "experiments", list(columns))
    op.create_index("ix_experiments_running", "experiments", ["id"],
                    postgresql_where=_RUNNING, sqlite_where=_RUNNING)  # fmt: skip
    _make_points()


def _make_points() -> None:
    op.create_table(
        "experiment_points",
        sa.Column("experiment_id", _ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("variant", sa.String(length=64), nullable=False),
        sa.Column("job_id", _ID, nullable=True),
        sa.Column("verdict", sa.String(length=32), nullable=True),
        sa.Column("tile", sa.Integer(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("(verdict IS NULL) = (result IS NULL)",
                           name=op.f("ck_experiment_points_verdict_with_result")),
        sa.CheckConstraint("result IS NULL OR length(result) <= 65536",
                           name=op.f("ck_experiment_points_result_bounded")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"],
                                name=op.f("fk_experiment_points_experiment_id_experiments")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_experiment_points_job_id_jobs")),
        sa.PrimaryKeyConstraint("experiment_id", "number", name=op.f("pk_experiment_points")),
        sa.UniqueConstraint("job_id", name=op.f("uq_experiment_points_job_id")),
    )  # fmt: skip
    op.create_index(
        op.f("ix_experiment_points_experiment_id_variant"), "experiment_points", ["experiment_id", "variant"]
    )
    op.create_index("ix_experiment_points_open", "experiment_points", ["experiment_id", "number"],
                    postgresql_where=_OPEN, sqlite_where=_OPEN)  # fmt: skip


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("experiment_points")
    op.drop_index("ix_experiments_running", "experiments")
    for columns in _INDEXES:
        op.drop_index(op.f(f"ix_experiments_{'_'.join(columns)}"), "experiments")
    with op.batch_alter_table("experiments") as table:
        for name, there in _KEYS.items():
            table.drop_constraint(op.f(f"fk_experiments_{name}_{there}"), type_="foreignkey")
        for name in _CHECKS:
            table.drop_constraint(op.f(f"ck_experiments_{name}"), type_="check")
        table.drop_constraint(op.f("uq_experiments_public_id"), type_="unique")
        for name in (
            "public_id", "state", "exercise_id", "device_class", "arch", "points", "begun", "ended", "pauses",
            "assignment_id", "submission_id", "pinned_id", "shared_at", "ended_at",
        ):  # fmt: skip
            table.drop_column(name)
