"""Random pseudonyms for leaderboards, and the accounts that course staff confirm.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

from server.accounts.random_names import FIRST, SECOND, draw_name

revision = "0005"
down_revision = "0004"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_WITH_THE_CODE = timedelta(minutes=1)
"""An account made with an enrolment code is at most this old when it joins the course."""


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("people") as people:
        people.add_column(sa.Column("made_name", sa.String(length=40), nullable=True))
        people.add_column(sa.Column("proven_at", _TIME, nullable=True))
    _fill()
    with op.batch_alter_table("people") as people:
        people.alter_column("made_name", existing_type=sa.String(length=40), nullable=False)
        people.create_unique_constraint(op.f("uq_people_made_name"), ["made_name"])


def _fill() -> None:
    """Fill the new columns. Leaderboards keep their names. Accounts made with a code are confirmed if they used a link
    since.
    """
    people = sa.table(
        "people",
        sa.column("id", _ID),
        sa.column("created_at", _TIME),
        sa.column("made_name"),
        sa.column("proven_at", _TIME),
    )
    joined, by_link = _deeds("course.joined"), _deeds("password.set_by_link")
    taken: set[str] = set()
    connection = op.get_bind()
    for number, at in connection.execute(
        sa.select(people.c.id, people.c.created_at).order_by(people.c.id)
    ).all():
        created = _utc(at)
        name = _made_until_now(number, created)
        while name in taken:
            name = draw_name()
        taken.add(name)
        self_made = number in joined and joined[number] - created < _WITH_THE_CODE
        proven = by_link.get(number) if self_made else created
        connection.execute(
            people.update().where(people.c.id == number).values(made_name=name, proven_at=proven)
        )


def _deeds(action: str) -> dict[int, datetime]:
    """Return when each person first did an action."""
    events = sa.table("audit_events", sa.column("actor_id", _ID), sa.column("action"), sa.column("at", _TIME))
    first = (
        sa.select(events.c.actor_id, events.c.at)
        .where(events.c.action == action)
        .order_by(events.c.at.desc())
    )
    return {number: _utc(at) for number, at in op.get_bind().execute(first)}


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _made_until_now(person: int, created: datetime) -> str:
    seed = f"board name {person} {created.isoformat(timespec='microseconds')}"
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    number, first = divmod(number, len(FIRST))
    number, second = divmod(number, len(SECOND))
    return f"{FIRST[first]} {SECOND[second]} {100 + number % 900}"


def downgrade() -> None:
    """Go back to the version before."""
    with op.batch_alter_table("people") as people:
        people.drop_constraint(op.f("uq_people_made_name"), type_="unique")
        people.drop_column("made_name")
        people.drop_column("proven_at")
