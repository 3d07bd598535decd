"""Checks of the processes that grade: dispatcher, recorder and workers."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from kernels.wording import plural
from server.database.engine import readers
from server.database.faults import explained
from server.grading.fleet_state import SILENT_SECONDS, FleetStatus, read_fleet
from server.operations import presence
from server.operations.doctor.finding import Deployment, Finding, fine, problem, warning
from server.operations.doctor.grading import open_assignments
from server.operations.doctor.services import ANSWER_SECONDS
from worker.contract.broker import connect_redis
from worker.contract.fleet import WorkerRecord, WorkerState
from worker.contract.messages import VERSION, gpu_queue
from worker.contract.redis_fleet import RedisFleet

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
    takers = {queue.name: queue.takers for queue in fleet.queues if queue.takers}
    if not running:
        return problem(
            "No worker is running, so submissions wait. Start one with `tilelab worker start`, or read the log of your "
            "worker."
        )
    if not takers:
        say = problem if any(each.state is WorkerState.OUT for each in running) else warning
        return say(
            "All workers are drained or out, so submissions wait. Read why in `tilelab worker status`, then: tilelab "
            "admin worker resume --all"
        )
    served = f"{len(running)} running, with {plural(sum(takers.values()), 'slot')}"
    return _lost(fleet, running) or _unserved(deployment, takers) or fine(served)


def worker_versions(deployment: Deployment) -> Finding | None:
    with connect_redis(deployment.settings.redis_url, answer_seconds=ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        records, now = fleet.workers(), fleet.now()
        running = {each.id: each.versions for each in records if now - each.beat <= SILENT_SECONDS}
        found: dict[str, Mapping[str, str]] = running | {name: {} for name in fleet.unreadable}
    if not found:
        return None
    here = {"tilelab": version("tilelab"), "messages": str(VERSION)}
    named = f"version {here['tilelab']} with messages {here['messages']}"
    if others := sorted(name for name, its in found.items() if not here.items() <= its.items()):
        return problem(
            f"The server has {named}, but not {', '.join(others)}. Such workers may refuse steps or judge "
            "differently. Update their machines, and restart them."
        )
    return fine(f"all have {named}, as the server")


def worker_warnings(deployment: Deployment) -> Finding | None:
    """What running workers say about themselves: missing isolation, or a wrong clock."""
    running = [seen.record for seen in _fleet(deployment).workers if not seen.silent and not seen.resting]
    if not running:
        return None
    if said := [f"{each.id}: {each.reason}" for each in running if each.reason]:
        return warning(" ".join(said))
    return fine("none")


def _lost(fleet: FleetStatus, running: Sequence[WorkerRecord]) -> Finding | None:
    """Workers that are silent or out, while others run."""
    if silent := [seen.record.id for seen in fleet.workers if seen.silent and not _replaced(seen.record, running)]:
        return warning(
            f"Silent: {', '.join(silent)}. Other workers do their steps. Check their hosts, and the network to Redis."
        )
    if out := [each.id for each in running if each.state is WorkerState.OUT]:
        return warning(
            f"Took themselves out after failures: {', '.join(out)}. Read why in `tilelab worker status`, run `tilelab "
            "worker selftest` there, then `tilelab admin worker resume`."
        )
    return None


def _unserved(deployment: Deployment, takers: Container[str]) -> Finding | None:
    """GPUs that open assignments measure on, and no worker has."""
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        needed = {gpu_queue(each.device_class) for each in open_assignments(session) if each.device_class}
    if missing := sorted(queue for queue in needed if queue not in takers):
        return warning(
            f"No worker serves {', '.join(missing)}, which open assignments need. Their submissions wait. Start a "
            "worker on a machine with that GPU."
        )
    return None


def _replaced(silent: WorkerRecord, running: Sequence[WorkerRecord]) -> bool:
    """Whether another worker was started on that host since, so that this one was only killed or restarted."""
    return any(each.host == silent.host and each.started > silent.beat for each in running)


def _fleet(deployment: Deployment) -> FleetStatus:
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        return read_fleet(session, deployment.settings.redis_url, datetime.now(UTC))
