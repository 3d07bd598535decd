"""Checks of what grades: workers, dispatcher, recorder and queues; and of e-mails that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kernels.wording import plural
from server.database.engine import readers
from server.database.faults import explained
from server.grading.fleet_state import SILENT_SECONDS, FleetStatus, QueueStatus, read_fleet
from server.grading.models import Step
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
    running = [seen.record for seen in fleet.workers if not seen.silent]
    if not running:
        return problem(
            "No worker is running, so submissions wait. Start one with `tilelab worker start`, or read the log of your "
            "worker."
        )
    if silent := [seen.record.id for seen in fleet.workers if seen.silent and not _replaced(seen.record, running)]:
        return warning(
            f"Silent: {', '.join(silent)}. Other workers do their steps. Check their hosts, and the network to Redis."
        )
    if out := [each.id for each in running if each.state is WorkerState.OUT]:
        return warning(
            f"Took themselves out after failures: {', '.join(out)}. Read why in `tilelab worker status`, run `tilelab "
            "worker selftest` there, then `tilelab admin worker resume`."
        )
    slots = sum(queue.takers for queue in fleet.queues)
    if not slots:
        return warning("All workers are drained, so submissions wait. Resume them: tilelab admin worker resume --all")
    return fine(f"{len(running)} running, with {plural(slots, 'slot')}")


def worker_versions(deployment: Deployment) -> Finding | None:
    with connect_redis(deployment.settings.redis_url, answer_seconds=ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        records, now = fleet.workers(), fleet.now()
        running = {each.id: each.versions.get("tilelab") for each in records if now - each.beat <= SILENT_SECONDS}
        found = running | dict.fromkeys(fleet.unreadable)
    if not found:
        return None
    here = version("tilelab")
    if others := sorted(name for name, its in found.items() if its != here):
        return problem(
            f"The server has version {here}, but not {', '.join(others)}. Such workers may refuse steps or judge "
            "differently. Update their machines, and restart them."
        )
    return fine(f"all have {here}, as the server")


def worker_warnings(deployment: Deployment) -> Finding | None:
    """What running workers say about themselves: missing isolation, or a wrong clock."""
    running = [seen.record for seen in _fleet(deployment).workers if not seen.silent and not seen.resting]
    if not running:
        return None
    if said := [f"{each.id}: {each.reason}" for each in running if each.reason]:
        return warning(" ".join(said))
    return fine("none")


def queue(deployment: Deployment) -> Finding:
    """Whether a queue stands still, or its oldest submission waits too long."""
    now = datetime.now(UTC)
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        queues = read_fleet(session, deployment.settings.redis_url, now).queues
        still = list(_still(session, queues, now))
    if still:
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


def _replaced(silent: WorkerRecord, running: Sequence[WorkerRecord]) -> bool:
    """Whether another worker was started on that host since, so that this one was only killed or restarted."""
    return any(each.host == silent.host and each.started > silent.beat for each in running)


def _still(session: Session, queues: Sequence[QueueStatus], now: datetime) -> Iterator[str]:
    """Queues in which nothing moves. Short steps are seldom seen running, so the last step's end counts, too."""
    lately = now - timedelta(seconds=_STANDS_SECONDS)
    for each in queues:
        if each.stuck:
            yield f"{each.name}: {each.waiting} waiting, and no worker takes them"
        elif not each.running and (each.oldest_seconds or 0) > _STANDS_SECONDS:
            ended = session.scalar(select(func.max(Step.ended_at)).where(Step.queue == each.name))
            if ended is None or ended < lately:
                yield f"{each.name}: {each.waiting} waiting for up to {each.oldest_seconds:.0f} s, and none is running"


def _fleet(deployment: Deployment) -> FleetStatus:
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        return read_fleet(session, deployment.settings.redis_url, datetime.now(UTC))
