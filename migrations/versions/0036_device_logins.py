"""Command lines that wait for a person to confirm their code.

Revision ID: 0036
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "device_logins",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("code", sa.String(8), nullable=False, unique=True),
        sa.Column("host", sa.String(60), nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("asked_at", _TIME, nullable=True),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), nullable=True, index=True),
        sa.Column("scopes", sa.String(60), nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("device_logins")
