"""Teams that submit together.

Revision ID: 0043
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = "fk_submissions_team_id_teams"
_INDEX = "ix_submissions_team_id"
_PRESENT = sa.text("left_at IS NULL")


def upgrade() -> None:
    """Add the setting, the tables, and what a submission keeps of its team. All students are alone until now."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("team_size", sa.Integer(), nullable=False, server_default="1"))
        table.create_check_constraint("team_size_in_range", "team_size BETWEEN 1 AND 3")
    with op.batch_alter_table("assignments") as table:
        table.alter_column("team_size", server_default=None)
    op.create_table(
        "teams",
        sa.Column("id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("code", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"], name="fk_teams_assignment_id_assignments"),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("code", name="uq_teams_code"),
    )
    op.create_index("ix_teams_assignment_id", "teams", ["assignment_id"])
    op.create_table(
        "team_members",
        sa.Column("team_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("left_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_team_members_team_id_teams"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_team_members_person_id_people"),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name="fk_team_members_assignment_id_assignments"
        ),
        sa.PrimaryKeyConstraint("team_id", "person_id", name="pk_team_members"),
    )
    op.create_index("ix_team_members_person_id_assignment_id", "team_members", ["person_id", "assignment_id"])
    op.create_index(
        "uq_team_members_present", "team_members", ["assignment_id", "person_id"], unique=True,
        postgresql_where=_PRESENT, sqlite_where=_PRESENT,
    )  # fmt: skip
    with op.batch_alter_table("submissions") as table:
        table.add_column(sa.Column("team_id", _ID))
        table.add_column(sa.Column("team_due_at", sa.DateTime(timezone=True)))
        table.create_foreign_key(_KEY, "teams", ["team_id"], ["id"])
        table.create_index(_INDEX, ["team_id"])


def downgrade() -> None:
    """Remove them."""
    with op.batch_alter_table("submissions") as table:
        table.drop_index(_INDEX)
        table.drop_constraint(_KEY, type_="foreignkey")
        table.drop_column("team_due_at")
        table.drop_column("team_id")
    op.drop_table("team_members")
    op.drop_table("teams")
    with op.batch_alter_table("assignments") as table:
        table.drop_constraint("team_size_in_range", type_="check")
        table.drop_column("team_size")
