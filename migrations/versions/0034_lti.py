"""Platforms of LTI, and what is between them and courses.

Revision ID: 0034
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_WAITS = sa.text("next_at IS NOT NULL")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "lti_platforms",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("title", sa.String(100), nullable=False),
        sa.Column("issuer", sa.String(250), nullable=False),
        sa.Column("client_id", sa.String(200), nullable=False),
        sa.Column("deployments", _DOCUMENT, nullable=False),
        sa.Column("authorization", sa.String(1000), nullable=False),
        sa.Column("token", sa.String(1000), nullable=False),
        sa.Column("keys", sa.String(1000), nullable=False),
        sa.Column("audience", sa.String(1000), nullable=False),
        sa.Column("domains", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.UniqueConstraint("issuer", "client_id", name="uq_lti_platforms_issuer_client_id"),
    )
    op.create_table(
        "lti_keys",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("private", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.create_table(
        "lti_contexts",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("platform_id", _ID, sa.ForeignKey("lti_platforms.id"), nullable=False),
        sa.Column("course_id", _ID, sa.ForeignKey("courses.id"), nullable=False, index=True),
        sa.Column("deployment", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("adds_students", sa.Boolean(), nullable=False),
        sa.Column("sends_grades", sa.Boolean(), nullable=False),
        sa.Column("members", sa.String(1000), nullable=False),
        sa.Column("connected_at", _TIME, nullable=False),
        sa.UniqueConstraint(
            "platform_id", "deployment", "name", name="uq_lti_contexts_platform_id_deployment_name"
        ),
    )  # fmt: skip
    op.create_table(
        "lti_links",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("context_id", _ID, sa.ForeignKey("lti_contexts.id"), nullable=False),
        sa.Column("assignment_id", _ID, sa.ForeignKey("assignments.id"), nullable=False, index=True),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("line_item", sa.String(1000), nullable=False),
        sa.UniqueConstraint("context_id", "name", name="uq_lti_links_context_id_name"),
    )
    op.create_table(
        "lti_launches",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("platform_id", _ID, sa.ForeignKey("lti_platforms.id"), nullable=False),
        sa.Column("nonce", sa.String(100), nullable=False),
        sa.Column("ticket", sa.String(64), nullable=False, unique=True),
        sa.Column("state", sa.String(100), nullable=False),
        sa.Column("said", _DOCUMENT, nullable=False),
        sa.Column("made_at", _TIME, nullable=False, index=True),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id")),
        sa.Column("frame", sa.String(64), nullable=False, index=True),
        sa.Column("answer", sa.String(20_000), nullable=False),
        sa.UniqueConstraint("platform_id", "nonce", name="uq_lti_launches_platform_id_nonce"),
    )
    op.create_table(
        "lti_scores",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("link_id", _ID, sa.ForeignKey("lti_links.id"), nullable=False),
        sa.Column("person_id", _ID, sa.ForeignKey("people.id"), nullable=False, index=True),
        sa.Column("points", sa.Double()),
        sa.Column("most", sa.Double(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("next_at", _TIME),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", _TIME),
        sa.Column("fault", sa.String(200), nullable=False),
        sa.UniqueConstraint("link_id", "person_id", name="uq_lti_scores_link_id_person_id"),
    )
    op.create_index(
        "ix_lti_scores_waiting", "lti_scores", ["next_at"], postgresql_where=_WAITS, sqlite_where=_WAITS
    )  # fmt: skip


def downgrade() -> None:
    """Drop them."""
    for table in ("lti_scores", "lti_launches", "lti_links", "lti_contexts", "lti_keys", "lti_platforms"):
        op.drop_table(table)
