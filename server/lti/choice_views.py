"""An instructor chooses an assignment for the platform (deep linking)."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, render_template, request
from joserfc.jwk import RSAKey
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.accounts.digest import digest_of
from server.audit.service import note
from server.courses.models import Assignment
from server.courses.service import assignments, find_assignment
from server.courses.staff_pages import acting
from server.http.site import site, site_address
from server.lti.keys import our_key, signed
from server.lti.launch import CLAIM, DL_CLAIM, Launch
from server.lti.models import LtiContext, LtiLaunch, LtiPlatform
from server.lti.services import trusted
from server.lti.views import KEPT, context_for_choice, in_frame, launch_of, refused
from server.sign_on.fetch import ProviderFault, checked

lti_choice = Blueprint("lti_choice", "server.lti", url_prefix="/lti")


@lti_choice.get("/launches/<ticket>/choose")
def show_choices(ticket: str) -> str:
    """List the assignments of the connected course."""
    with site().sessions.begin() as session:
        row, _, context = _launch(session, ticket)
        return render_template(
            "lti/choose.html", ticket=ticket, platform=row.platform, course=context.course,
            assignments=assignments(session, context.course),
        )  # fmt: skip


@lti_choice.post("/launches/<ticket>/choose")
def choose(ticket: str) -> Response:
    """Sign the choice. The browser brings it to the platform, from the frame in which it asked, if there is one."""
    with site().sessions.begin() as session:
        row, said, context = _launch(session, ticket)
        return_to = _return_address(row.platform, said)
        chosen = find_assignment(session, f"{context.course.slug}/{request.form.get('assignment', '')}")
        if chosen is None:
            raise nothing_here()
        answer = _signed(our_key(session), row.platform, said, chosen)
        note(
            session, acting(session), "lti.chosen", f"assignment {chosen.name}", course_id=context.course_id,
            context=context.id,
        )  # fmt: skip
        if row.frame:
            row.answer = answer
            return Response(render_template("lti/chosen.html", platform=row.platform, chosen=chosen))
    return _handed_over(row.platform, return_to, answer)


@lti_choice.get("/frames/<secret>")
def show_frame(secret: str) -> Response:
    """The frame in which the platform waits: the choice, once there is one."""
    with site().readers.begin() as session:
        query = select(LtiLaunch).where(
            LtiLaunch.frame == digest_of(secret), LtiLaunch.answer != "", LtiLaunch.made_at > datetime.now(UTC) - KEPT
        )
        row = session.scalar(query.order_by(LtiLaunch.id.desc()).limit(1))
        if row is not None:
            return _handed_over(row.platform, _return_address(row.platform, Launch(**row.said)), row.answer)
    again = f"/lti/login?{request.query_string.decode('ascii', 'replace')}"
    return in_frame("lti/framed.html", again=again, frame=secret)


def _launch(session: Session, ticket: str) -> tuple[LtiLaunch, Launch, LtiContext]:
    row, said = launch_of(session, ticket, viewer())
    return row, said, context_for_choice(session, row, said)


def _handed_over(platform: LtiPlatform, return_to: str, answer: str) -> Response:
    """A page, also for a frame, with a form that leads to the platform. It may redirect to another of its hosts."""
    parts = urlsplit(return_to)
    forms = "https:" if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"
    return in_frame("lti/return.html", forms=forms, platform=platform, return_to=return_to, answer=answer)


def _return_address(platform: LtiPlatform, said: Launch) -> str:
    """Where the platform takes the choice; raises Refused unless it is encrypted, or on a host that operators named."""
    try:
        address = checked(said.return_to)
    except ProviderFault as fault:
        raise _unsafe(platform) from fault
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.netloc not in trusted(platform):
        raise _unsafe(platform)
    return address


def _unsafe(platform: LtiPlatform) -> Exception:
    return refused("return", "The choice can’t be sent", f"{platform.title} takes it at an unsafe address only.", 400)


def _signed(key: RSAKey, platform: LtiPlatform, said: Launch, chosen: Assignment) -> str:
    item: dict[str, Any] = {
        "type": "ltiResourceLink", "title": chosen.title, "window": {"targetName": "_blank"},
        "url": f"{site_address()}/courses/{chosen.course.slug}/{chosen.slug}/",
    }  # fmt: skip
    if chosen.most_points > 0:
        item["lineItem"] = {"scoreMaximum": chosen.most_points, "label": chosen.title, "resourceId": chosen.slug}
    answer = {
        "iss": platform.client_id, "aud": platform.issuer, "nonce": secrets.token_urlsafe(32),
        f"{CLAIM}deployment_id": said.deployment, f"{CLAIM}message_type": "LtiDeepLinkingResponse",
        f"{CLAIM}version": "1.3.0", f"{DL_CLAIM}content_items": [item],
    }  # fmt: skip
    return signed(key, answer | ({f"{DL_CLAIM}data": said.data} if said.data else {}))
