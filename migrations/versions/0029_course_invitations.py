"""Invitations to courses, which people with an account accept themselves.

Revision ID: 0029
Revises: 0028
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_TABLE = "course_invitations"


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        _TABLE,
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("section", sa.String(length=60), nullable=False),
        sa.Column("invited_by", _ID, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("refused_at", _TIME, nullable=True),
        *(
            sa.ForeignKeyConstraint(
                [column], [target], name=op.f(f"fk_{_TABLE}_{column}_{target.partition('.')[0]}")
            )
            for column, target in (
                ("course_id", "courses.id"),
                ("person_id", "people.id"),
                ("invited_by", "people.id"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
        sa.UniqueConstraint("course_id", "person_id", name=op.f(f"uq_{_TABLE}_course_id_person_id")),
    )
    op.create_index(op.f(f"ix_{_TABLE}_person_id"), _TABLE, ["person_id"])


def downgrade() -> None:
    """Go back to the version before. Open invitations are lost."""
    op.drop_table(_TABLE)
