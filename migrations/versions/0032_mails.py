"""Links that go out by e-mail, and a key with which a reader turns off a kind of e-mail.

Revision ID: 0032
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LINK, _INDEX, _KEY = "fk_mails_link_id_one_time_links", "ix_mails_link_id", "uq_mails_key"


def upgrade() -> None:
    """Add the columns. Earlier e-mails get keys that none of them shows."""
    with op.batch_alter_table("one_time_links") as table:
        table.add_column(sa.Column("by_mail", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("mails") as table:
        table.add_column(sa.Column("link_id", _ID))
        table.add_column(sa.Column("key", sa.String(43)))
    mails = sa.table("mails", sa.column("id"), sa.column("key"))
    connection = op.get_bind()
    for number in connection.scalars(sa.select(mails.c.id)).all():
        connection.execute(sa.update(mails).where(mails.c.id == number).values(key=secrets.token_urlsafe(24)))
    with op.batch_alter_table("one_time_links") as table:
        table.alter_column("by_mail", server_default=None)
    with op.batch_alter_table("mails") as table:
        table.alter_column("key", nullable=False)
        table.create_foreign_key(_LINK, "one_time_links", ["link_id"], ["id"], ondelete="SET NULL")
        table.create_index(_INDEX, ["link_id"])
        table.create_unique_constraint(_KEY, ["key"])


def downgrade() -> None:
    """Drop them, and the e-mails that only they explain."""
    op.execute(sa.text("DELETE FROM mails WHERE kind IN ('access', 'test')"))
    with op.batch_alter_table("mails") as table:
        table.drop_constraint(_KEY, type_="unique")
        table.drop_index(_INDEX)
        table.drop_constraint(_LINK, type_="foreignkey")
        table.drop_column("key")
        table.drop_column("link_id")
    with op.batch_alter_table("one_time_links") as table:
        table.drop_column("by_mail")
