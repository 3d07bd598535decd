"""A column for the job that gives a submission its verdict.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = "fk_submissions_judged_job_id_jobs"
_DONE = "SELECT max(id) FROM jobs WHERE submission_id = submissions.id AND state = 'done'"


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("submissions") as submissions:
        submissions.add_column(sa.Column("judged_job_id", _ID, nullable=True))
    # The last verdict; a system error only if there is no other.
    op.execute(
        f"UPDATE submissions SET judged_job_id = coalesce(({_DONE} AND verdict <> 'system_error'), ({_DONE}))"  # noqa: S608 - our own words
    )
    with op.batch_alter_table("submissions") as submissions:
        submissions.create_foreign_key(
            op.f(_KEY), "jobs", ["judged_job_id"], ["id"], deferrable=True, initially="DEFERRED"
        )


def downgrade() -> None:
    """Go back to the version before."""
    with op.batch_alter_table("submissions") as submissions:
        submissions.drop_constraint(op.f(_KEY), type_="foreignkey")
        submissions.drop_column("judged_job_id")
