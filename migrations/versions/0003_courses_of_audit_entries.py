"""The course of each audit entry, so that a course's page finds its entries without reading all others.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("audit_events") as events:
        events.add_column(sa.Column("course_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
        events.create_foreign_key(op.f("fk_audit_events_course_id_courses"), "courses", ["course_id"], ["id"])
    op.create_index(op.f("ix_audit_events_course_id_id"), "audit_events", ["course_id", "id"])


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_index(op.f("ix_audit_events_course_id_id"), table_name="audit_events")
    with op.batch_alter_table("audit_events") as events:
        events.drop_constraint(op.f("fk_audit_events_course_id_courses"), type_="foreignkey")
        events.drop_column("course_id")
