"""Scopes of tokens. A token from before allows what it always allowed: everything that its owner may do.

Revision ID: 0020
Revises: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("api_tokens") as table:
        table.add_column(
            sa.Column("scopes", sa.String(length=60), nullable=False, server_default="read submit staff")
        )
    with op.batch_alter_table("api_tokens") as table:
        table.alter_column("scopes", server_default=None)


def downgrade() -> None:
    """Go back to the version before. Tokens with fewer scopes end, because they would allow everything."""
    op.execute(
        "UPDATE api_tokens SET revoked_at = CURRENT_TIMESTAMP "
        "WHERE scopes <> 'read submit staff' AND revoked_at IS NULL"
    )
    with op.batch_alter_table("api_tokens") as table:
        table.drop_column("scopes")
