"""The page of workers and queues, for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify, render_template, request

from server.accounts.access import admin, nothing_here
from server.accounts.models import Person
from server.accounts.views import go
from server.audit.service import note
from server.courses.audit_log import read_entries
from server.grading.contradictions import Contradiction, recent_contradictions
from server.grading.fleet_state import FleetStatus, NoSuchWorker, read_fleet, send_order
from server.grading.refusals import RefusedResult, recent_refusals
from server.http.forms import number_of
from server.http.problems import Refused
from server.http.site import site
from server.mail.queries import MailState, ask_for_test, mail_state
from worker.contract.broker import BrokerUnavailable, BrokerUrlError
from worker.contract.fleet import Wanted

fleet = Blueprint("fleet_pages", __name__)


@dataclass(frozen=True, slots=True)
class FleetPage:
    seen: FleetStatus
    contradictions: Sequence[Contradiction]
    refusals: Sequence[RefusedResult]
    mails: MailState
    now: datetime


@fleet.get("/fleet")
def show_fleet() -> str:
    return render_template("operations/fleet.html", page=_page())


@fleet.get("/fleet/state")
def fleet_state() -> Response:
    page = _page()
    return jsonify(html=render_template("operations/now.html", page=page), final=False)


@fleet.post("/fleet/workers/<worker>")
def tell_worker(worker: str) -> Response:
    who = admin()
    try:
        wanted = {"drain": Wanted.DRAIN, "resume": Wanted.WORK}[request.form.get("do", "")]
    except KeyError:
        raise Refused(422, "invalid", "This form is incomplete", "Go back and reload the page.") from None
    action = "worker.drained" if wanted is Wanted.DRAIN else "worker.resumed"
    try:
        # First the audit entry, then the action: an action without an entry would be worse than a short delay.
        with site().sessions.begin() as session:
            name = "".join(char for char in worker[:150] if char.isprintable())
            note(session, session.get_one(Person, who.id), action, f"worker {name}")
            session.flush()
            send_order(site().settings.redis_url, worker, wanted)
    except NoSuchWorker as error:
        raise Refused(404, "no_such_worker", "Worker not found", str(error)) from error
    except (BrokerUnavailable, BrokerUrlError) as error:
        raise Refused(
            503, "broker_away", "Couldn’t reach the worker",
            f"Workers get requests through Redis, which doesn’t answer. Try again later. {error}",
        ) from error  # fmt: skip
    return go("/fleet?notice=worker-told")


@fleet.post("/fleet/mail")
def send_test_mail() -> Response:
    """Let the mailer send an e-mail to the operator who asks."""
    who = admin()
    if site().settings.mail is None:
        raise nothing_here()
    with site().sessions.begin() as session:
        ask_for_test(session, session.get_one(Person, who.id))
    return go("/fleet?notice=mail-asked")


@fleet.get("/fleet/audit")
def show_audit() -> str:
    """Show the audit of the whole server: workers, accounts, and whatever belongs to no course."""
    admin()
    before = number_of(request.args, "before")
    with site().readers.begin() as session:
        found = read_entries(session, None, before=before or 0)
    return render_template("operations/audit.html", entries=found)


def _page() -> FleetPage:
    admin()
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        seen = read_fleet(session, site().settings.redis_url, now)
        return FleetPage(
            seen, recent_contradictions(session, now), recent_refusals(session, now), mail_state(session), now
        )
