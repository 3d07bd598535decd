"""The digests of the checked PTX, in a column next to the work that holds them.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import base64
import json
import zlib

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_steps = sa.table(
    "steps", sa.column("id", sa.BigInteger()), sa.column("state"), sa.column("work", sa.LargeBinary()),
    sa.column("digests", sa.Text()),
)  # fmt: skip


def upgrade() -> None:
    """Upgrade to this version."""
    op.add_column("steps", sa.Column("digests", sa.Text(), nullable=True))
    connection = op.get_bind()
    # No one needs the digests of a finished step.
    open_steps = _steps.c.work.is_not(None) & _steps.c.state.in_(("queued", "sent", "running"))
    for number in connection.scalars(sa.select(_steps.c.id).where(open_steps)).all():
        work = connection.scalar(sa.select(_steps.c.work).where(_steps.c.id == number)) or b""
        connection.execute(sa.update(_steps).where(_steps.c.id == number).values(digests=_digests(work)))


def _digests(work: bytes) -> str:
    """Return the digests. Unreadable work has none, so no measurement of it is accepted."""
    try:
        return " ".join(json.loads(zlib.decompress(base64.b64decode(work)))["digests"])
    except (ValueError, zlib.error, KeyError, TypeError):
        return ""


def downgrade() -> None:
    """Go back to the version before."""
    with op.batch_alter_table("steps") as steps:
        steps.drop_column("digests")
