"""Late days, a highest late penalty, and points for goals and speed.

Revision ID: 0017
Revises: 0016
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_CHECKS = ("late_percent_most", "goals_percent")


def _rules() -> list[sa.Column[Any]]:
    return [
        sa.Column("late_percent_most", sa.Double(), nullable=False, server_default="100"),
        sa.Column("goals_percent", sa.Double(), nullable=False, server_default="100"),
        sa.Column("speed_by", sa.String(length=32), nullable=True),
        sa.Column("speed_tiers", sa.String(length=200), nullable=False, server_default=""),
    ]


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("assignments") as table:
        for column in _rules():
            table.add_column(column)
    with op.batch_alter_table("assignments") as table:
        for column in _rules():
            if not column.nullable:
                table.alter_column(column.name, server_default=None)
        for name in _CHECKS:
            table.create_check_constraint(
                op.f(f"ck_assignments_{name}_in_range"), f"{name} BETWEEN 0 AND 100"
            )
    for name in ("courses", "submissions"):
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("late_days", sa.Integer(), nullable=False, server_default="0"))
        with op.batch_alter_table(name) as table:
            table.alter_column("late_days", server_default=None)
            if name == "courses":
                table.create_check_constraint(op.f("ck_courses_late_days_not_negative"), "late_days >= 0")
    with op.batch_alter_table("results") as table:
        table.add_column(sa.Column("goals_missed", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Go back to the version before. Rules and spent late days go."""
    op.drop_column("results", "goals_missed")
    with op.batch_alter_table("courses") as table:
        table.drop_constraint(op.f("ck_courses_late_days_not_negative"), type_="check")
        table.drop_column("late_days")
    op.drop_column("submissions", "late_days")
    with op.batch_alter_table("assignments") as table:
        for name in _CHECKS:
            table.drop_constraint(op.f(f"ck_assignments_{name}_in_range"), type_="check")
        for column in _rules():
            table.drop_column(column.name)
