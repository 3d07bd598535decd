"""Extension requests of students.

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "extension_requests",
        sa.Column("id", _ID, nullable=False),
        sa.Column("assignment_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("wanted_at", _TIME, nullable=False),
        sa.Column("reason", sa.String(length=2000), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=True),
        sa.Column("answer", sa.String(length=2000), nullable=False),
        sa.Column("answered_by", _ID, nullable=True),
        sa.Column("answered_at", _TIME, nullable=True),
        sa.CheckConstraint("(granted IS NULL) = (answered_at IS NULL)",
                           name=op.f("ck_extension_requests_answered_once")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.id"],
                                name=op.f("fk_extension_requests_assignment_id_assignments")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_extension_requests_person_id_people")),
        sa.ForeignKeyConstraint(["answered_by"], ["people.id"],
                                name=op.f("fk_extension_requests_answered_by_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_extension_requests")),
        sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index(op.f("ix_extension_requests_person_id"), "extension_requests", ["person_id"])
    still = sa.text("answered_at IS NULL")
    op.create_index(op.f("uq_extension_requests_open"), "extension_requests", ["assignment_id", "person_id"],
                    unique=True, postgresql_where=still, sqlite_where=still)  # fmt: skip
    op.create_index(op.f("ix_extension_requests_assignment_id_person_id_id"), "extension_requests",
                    ["assignment_id", "person_id", "id"])  # fmt: skip


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_table("extension_requests")
