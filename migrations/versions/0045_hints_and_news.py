"""First hints, and news of results and requests.

Revision ID: 0045
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"

_ON_REQUEST, _AT_ONCE = "finding", "edit"
_NEWS = sa.text("news_since IS NOT NULL")
_WITH_NEWS = ("submissions", "extension_requests")


def upgrade() -> None:
    """Let an assignment begin with a question. Its choice so far stays. Nothing is new yet."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("first_hint", sa.String(32), nullable=False, server_default=_AT_ONCE))
    assignments = sa.table("assignments", sa.column("first_hint"), sa.column("edit_on_request"))
    op.execute(assignments.update().where(assignments.c.edit_on_request).values(first_hint=_ON_REQUEST))
    with op.batch_alter_table("assignments") as table:
        table.alter_column("first_hint", server_default=None)
        table.drop_column("edit_on_request")
    with op.batch_alter_table("submissions") as table:
        table.add_column(sa.Column("finding_shown_at", sa.DateTime(timezone=True)))
    for name in _WITH_NEWS:
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("news_since", sa.DateTime(timezone=True)))
        op.create_index(f"ix_{name}_news", name, ["person_id"], postgresql_where=_NEWS, sqlite_where=_NEWS)


def downgrade() -> None:
    """Keep the edit on request only."""
    for name in _WITH_NEWS:
        op.drop_index(f"ix_{name}_news", name)
        with op.batch_alter_table(name) as table:
            table.drop_column("news_since")
    with op.batch_alter_table("submissions") as table:
        table.drop_column("finding_shown_at")
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("edit_on_request", sa.Boolean(), nullable=False, server_default=sa.false()))
    assignments = sa.table("assignments", sa.column("first_hint"), sa.column("edit_on_request"))
    op.execute(assignments.update().where(assignments.c.first_hint != _AT_ONCE).values(edit_on_request=True))
    with op.batch_alter_table("assignments") as table:
        table.alter_column("edit_on_request", server_default=None)
        table.drop_column("first_hint")
