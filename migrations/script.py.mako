"""${message}.

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Upgrade to this version."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Go back to the version before."""
    ${downgrades if downgrades else "pass"}
