"""Identities at providers, and the sessions that began with one.

Revision ID: 0031
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY, _INDEX = "fk_browser_sessions_identity_id_identities", "ix_browser_sessions_identity_id"
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table, and name a session's identity."""
    op.create_table(
        "identities",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), nullable=False, index=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("used_at", _TIME, nullable=False),
        sa.UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),
    )
    with op.batch_alter_table("browser_sessions") as table:
        table.add_column(sa.Column("identity_id", _ID))
        table.add_column(sa.Column("provider_session", sa.String(255)))
        table.create_foreign_key(_KEY, "identities", ["identity_id"], ["id"])
        table.create_index(_INDEX, ["identity_id"])


def downgrade() -> None:
    """Drop both."""
    with op.batch_alter_table("browser_sessions") as table:
        table.drop_index(_INDEX)
        table.drop_constraint(_KEY, type_="foreignkey")
        table.drop_column("provider_session")
        table.drop_column("identity_id")
    op.drop_table("identities")
