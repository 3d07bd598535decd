"""Checks of what grades: workers, dispatcher, recorder and queues; and of e-mails that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from sqlalchemy import func, select

from kernels.wording import plural
from server.database.engine import readers
from server.database.faults import explained
from server.grading.fleet_state import SILENT_SECONDS, FleetStatus, QueueStatus, read_fleet
from server.mail.models import Mail
from server.operations import presence
from server.operations.doctor.finding import Deployment, Finding, fine, problem, warning
from server.operations.doctor.services import ANSWER_SECONDS
from worker.contract.broker import connect_redis
from worker.contract.fleet import WorkerRecord, WorkerState
from worker.contract.redis_fleet import RedisFleet

_STANDS_SECONDS = 60.0
_LONG_SECONDS = 1800.0
"""As in docs/alerts.yml: a submission that waits longer has waited too long."""

_MAIL_WAITS = timedelta(hours=1)
_CLOCK_SECONDS = 5.0
_NEEDED = {
    "dispatcher": "Submissions wait, because nothing sends them to workers.",
    "recorder": "No result is stored, so students see no verdict.",
}


def process(name: str, deployment: Deployment) -> Finding:
    """Whether a dispatcher or recorder has reported lately."""
    with connect_redis(deployment.settings.redis_url, answer_seconds=ANSWER_SECONDS) as client:
        count = presence.look(client).processes.get(name, 0)
    if count:
        return fine(f"{count} running")
    return problem(
        f"No {name} has reported for {presence.SILENT_SECONDS:.0f} seconds. {_NEEDED[name]} Read its log, or start it: "
        f"tilelab serve {name}"
    )


def workers(deployment: Deployment) -> Finding:
    fleet = _fleet(deployment)
    running = [seen for seen in fleet.workers if not seen.silent]
    if not running:
        return problem(
            "No worker is running, so submissions wait. Start one with `tilelab worker start`, or read the log of your "
            "worker."
        )
    if silent := [seen.record.id for seen in fleet.workers if seen.silent]:
        return warning(
            f"Silent: {', '.join(silent)}. Other workers do their steps. Check their hosts, and the network to Redis."
        )
    if out := [seen.record.id for seen in running if seen.record.state is WorkerState.OUT]:
        return warning(
            f"Took themselves out after failures: {', '.join(out)}. Read why in `tilelab worker status`, run `tilelab "
            "worker selftest` there, then `tilelab admin worker resume`."
        )
    return fine(f"{len(running)} running, with {plural(sum(queue.takers for queue in fleet.queues), 'slot')}")


def worker_versions(deployment: Deployment) -> Finding | None:
    unreadable, records = _records(deployment)
    if not records and not unreadable:
        return None
    here = version("tilelab")
    others = sorted({*unreadable, *(each.id for each in records if each.versions.get("tilelab") != here)})
    if others:
        return problem(
            f"The server has version {here}, but not {', '.join(others)}. Such workers may refuse steps or judge "
            "differently. Update their machines, and restart them."
        )
    return fine(f"all have {here}, as the server")


def worker_clocks(deployment: Deployment) -> Finding | None:
    """Whether a worker's clock is ahead of Redis's. Its record doesn't show a clock that is behind."""
    _, records = _records(deployment)
    if not records:
        return None
    ahead = {each.id: max([each.started, *(slot.since for slot in each.slots)]) - each.beat for each in records}
    if wrong := [f"{name} by {by:.0f} s" for name, by in ahead.items() if by > _CLOCK_SECONDS]:
        return warning(
            f"Clocks are ahead: {', '.join(wrong)}. The times of steps are then wrong. Let these machines set their "
            "clocks by NTP."
        )
    return fine("none is ahead")


def worker_isolation(deployment: Deployment) -> Finding | None:
    running = [seen.record for seen in _fleet(deployment).workers if not seen.silent]
    if not running:
        return None
    if gaps := [f"{each.id} ({each.warnings[0]})" for each in running if each.warnings]:
        return problem(
            f"Isolation is missing: {', '.join(gaps)}. A hostile submission may harm that machine. Run `tilelab worker "
            "selftest` there, and start the worker without --allow-missing-isolation."
        )
    return fine("complete on all workers")


def queue(deployment: Deployment) -> Finding:
    """Whether a queue stands still, or its oldest submission waits too long."""
    queues = _fleet(deployment).queues
    if still := list(_still(queues)):
        return problem(f"{'; '.join(still)}. Students get no verdict. Look for the cause: tilelab worker status")
    if long := [each.name for each in queues if (each.oldest_seconds or 0) > _LONG_SECONDS]:
        return warning(
            f"The oldest submission in {', '.join(long)} has waited for over 30 minutes. Start more workers."
        )
    return fine(f"{sum(each.waiting for each in queues)} waiting, {sum(each.running for each in queues)} running")


def waiting_mail(deployment: Deployment) -> Finding | None:
    if deployment.settings.mail is None:
        return None
    late = Mail.next_at.is_not(None) & (Mail.made_at < datetime.now(UTC) - _MAIL_WAITS)
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        count = session.scalar(select(func.count(Mail.id)).where(late)) or 0
    if count:
        return warning(
            f"{plural(count, 'e-mail')} waited for over an hour. A day after its occasion, an e-mail is given up. Read "
            "the dispatcher's log."
        )
    return fine("no e-mail waits for over an hour")


def _still(queues: Sequence[QueueStatus]) -> Iterator[str]:
    for each in queues:
        if each.stuck:
            yield f"{each.name}: {each.waiting} waiting, and no worker takes them"
        elif each.waiting and not each.running and (each.oldest_seconds or 0) > _STANDS_SECONDS:
            yield f"{each.name}: {each.waiting} waiting for up to {each.oldest_seconds:.0f} s, and none is running"


def _fleet(deployment: Deployment) -> FleetStatus:
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        return read_fleet(session, deployment.settings.redis_url, datetime.now(UTC))


def _records(deployment: Deployment) -> tuple[frozenset[str], Sequence[WorkerRecord]]:
    """Workers whose records this version can't read, and the records of others that aren't silent."""
    with connect_redis(deployment.settings.redis_url, answer_seconds=ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        records, now = fleet.workers(), fleet.now()
        return fleet.unreadable, [each for each in records if now - each.beat <= SILENT_SECONDS]
