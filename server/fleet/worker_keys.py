"""Workers' keys in the database: add, replace and revoke them. A dispatcher applies them to Redis within seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from server.fleet.models import WorkerKey
from worker.contract.credential import (
    Credential,
    check_name,
    check_queues,
    new_secret,
    password_digest,
    password_in,
    read_credential,
    worker_url,
)

BOTH_VALID = timedelta(hours=24)
"""How long a replaced key stays valid."""


class WorkerKeyError(ValueError):
    """The key can't be made or found; the text says why."""


def valid_keys(session: Session, now: datetime) -> Sequence[WorkerKey]:
    """All valid keys, by name, each worker's newest first."""
    valid = or_(WorkerKey.valid_until.is_(None), WorkerKey.valid_until > now)
    return session.scalars(select(WorkerKey).where(valid).order_by(WorkerKey.name, WorkerKey.id.desc())).all()


def keys_of(session: Session, name: str, now: datetime) -> list[WorkerKey]:
    """A worker's valid keys, the newest first."""
    return [key for key in valid_keys(session, now) if key.name == name]


def add_key(session: Session, redis_url: str, name: str, queues: Sequence[str], now: datetime) -> str:
    """Make a worker's key. Returns its address, which is stored nowhere. Raises WorkerKeyError."""
    try:
        credential = Credential(check_name(name), check_queues(queues), new_secret())
    except ValueError as error:
        raise WorkerKeyError(str(error)) from error
    if keys_of(session, name, now):
        raise WorkerKeyError(f"{name} has a key. Replace it with `tilelab admin worker rotate {name}`.")
    return _new(session, redis_url, credential, now)


def rotate_key(session: Session, redis_url: str, name: str, now: datetime) -> str:
    """Make a new key for a worker. The replaced one stays valid for a day. Returns the new address."""
    old = keys_of(session, name, now)
    if not old:
        raise WorkerKeyError(f"{name} has no key. Make one with `tilelab admin worker add {name}`.")
    return renew_key(session, redis_url, name, old[0].queue_names, now)


def renew_key(session: Session, redis_url: str, name: str, queues: Sequence[str], now: datetime) -> str:
    """Make a new key, whether the worker has one or not. A replaced one stays valid for a day."""
    _retire(session, keys_of(session, name, now), now)
    return _new(session, redis_url, Credential(name, tuple(queues), new_secret()), now)


def register_key(session: Session, redis_url: str, now: datetime) -> tuple[str, bool]:
    """Store the key of an address that was made elsewhere, and retire other keys of this worker.

    Returns the worker's name, and whether the key is new. Raises BrokerUrlError.
    """
    credential, password = read_credential(redis_url), password_in(redis_url)
    old = keys_of(session, credential.name, now)
    same = (credential.key, password_digest(password), credential.queues)
    if any((key.key, key.password_digest, key.queue_names) == same for key in old):
        return credential.name, False
    _retire(session, old, now)
    _store(session, credential, password, now)
    return credential.name, True


def revoke_keys(session: Session, name: str) -> None:
    """End all keys of a worker. Raises WorkerKeyError if it has none."""
    ended = session.scalars(delete(WorkerKey).where(WorkerKey.name == name).returning(WorkerKey.id)).all()
    if not ended:
        raise WorkerKeyError(f"{name} has no key.")


def _retire(session: Session, old: Sequence[WorkerKey], now: datetime) -> None:
    """Keep only the newest key, for a day."""
    for key in old[1:]:
        session.delete(key)
    for key in old[:1]:
        key.valid_until = now + BOTH_VALID


def _new(session: Session, redis_url: str, credential: Credential, now: datetime) -> str:
    password = new_secret()
    _store(session, credential, password, now)
    return worker_url(redis_url, credential, password)


def _store(session: Session, credential: Credential, password: str, now: datetime) -> None:
    session.add(
        WorkerKey(
            name=credential.name,
            queues=" ".join(credential.queues),
            key=credential.key,
            password_digest=password_digest(password),
            added_at=now,
        )
    )
