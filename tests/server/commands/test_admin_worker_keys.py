"""`tilelab admin worker`: workers' addresses, by the command's own entry."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from server.audit.models import AuditEvent
from server.database.engine import Sessions
from server.fleet.worker_keys import valid_keys
from tests.server.commands import admin
from tests.server.course import read_rows
from tests.services.redis_server import A_WORKER, as_worker
from worker.commands.root import Exit
from worker.contract.credential import Credential, read_credential


@pytest.fixture(autouse=True)
def broker(made: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:secret@queue/3?ssl_ca_certs=ca.pem")


def done(*words: str) -> str:
    return admin.done("worker", *words).strip()


def names(made: Sessions, after: timedelta = timedelta(0)) -> list[str]:
    with made.begin() as session:
        return [key.name for key in valid_keys(session, datetime.now(UTC) + after)]


def test_an_address_is_made_replaced_and_revoked(made: Sessions, tmp_path: Path) -> None:
    file = tmp_path / "gpu-1.url"
    done("add", "gpu-1", "--queue", "cpu", "--queue", "gpu", "--file", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    url = file.read_text().strip()
    first = read_credential(url)
    assert (first.name, first.queues) == ("gpu-1", ("cpu", "gpu"))
    assert url.startswith("redis://worker-gpu-1:")
    assert "@queue/3?ssl_ca_certs=ca.pem&" in url
    assert "secret" not in url
    second = read_credential(done("rotate", "gpu-1", "--at", "rediss://outside:6380/0"))
    assert (second.name, second.queues) == (first.name, first.queues)
    assert second.key != first.key
    assert names(made) == ["gpu-1"] * 2
    assert names(made, timedelta(days=2)) == ["gpu-1"]
    assert len(done("keys").splitlines()) == 2
    assert done("keys", "--acl").startswith("ACL SETUSER worker-gpu-1 reset on ")
    done("revoke", "gpu-1")
    assert names(made) == []
    found = read_rows(made, select(AuditEvent).order_by(AuditEvent.id))
    assert [each.action for each in found] == [
        "worker.key_added", "worker.key_replaced", "worker.key_revoked",
    ]  # fmt: skip
    assert first.key not in str([each.detail for each in found])


def test_addresses_that_were_made_elsewhere_are_accepted_once(made: Sessions, tmp_path: Path) -> None:
    file = tmp_path / "one"
    file.write_text(as_worker("redis://queue/0"))
    assert done("register", str(file)) == "host-1: registered"
    assert done("register", str(file)) == "host-1: known"
    assert names(made) == ["host-1"]
    file.write_text(as_worker("redis://queue/0", Credential("host-1", A_WORKER.queues, "0a" * 32)))
    assert done("register", str(file)) == "host-1: registered"
    assert names(made) == ["host-1", "host-1"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "Upper", "--queue", "cpu"),
        ("add", "a.b", "--queue", "cpu"),
        ("add", "a" * 41, "--queue", "cpu"),
        ("add", "a", "--queue", "results"),
        ("add", "a", "--queue", "gpu.*"),
        ("add", "known", "--queue", "cpu"),
        ("add", "new", "--queue", "cpu", "--file", "{there}"),
        ("rotate", "nobody"),
        ("revoke", "nobody"),
        ("register", "{there}"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(made: Sessions, tmp_path: Path, words) -> None:
    there = tmp_path / "there"
    there.write_text("redis://queue/0")
    done("add", "known", "--queue", "cpu")
    assert admin.run("worker", *(word.format(there=there) for word in words)).exit_code == Exit.WRONG_USE
    assert names(made) == ["known"]
