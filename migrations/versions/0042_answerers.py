"""Who answers a question.

Revision ID: 0042
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = "fk_comments_answerer_id_people"


def upgrade() -> None:
    """Add the column. Nobody has taken a question until now."""
    with op.batch_alter_table("comments") as table:
        table.add_column(sa.Column("answerer_id", _ID))
        table.create_foreign_key(_KEY, "people", ["answerer_id"], ["id"])


def downgrade() -> None:
    """Remove it."""
    with op.batch_alter_table("comments") as table:
        table.drop_constraint(_KEY, type_="foreignkey")
        table.drop_column("answerer_id")
