"""The page where a reader of an e-mail turns off its kind, without signing in."""

from __future__ import annotations

from flask import Blueprint, Flask, Response, render_template
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.models import CHOSEN_MAILS, Person
from server.accounts.views import MAIL_TITLES
from server.http.site import site
from server.mail.models import Mail

mail_pages = Blueprint("mail_pages", "server.mail")

_PAGE = "mail/no_more.html"


def attach_mail(app: Flask) -> None:
    """Let pages know whether this portal sends e-mail."""
    app.jinja_env.globals["sends_mail"] = lambda: site().settings.mail is not None


@mail_pages.get("/no-more-mail/<key>")
def ask(key: str) -> str:
    """Ask first, because mail programs open links before people do."""
    with site().readers.begin() as session:
        kind = _found(session, key).kind
    return render_template(_PAGE, title=MAIL_TITLES[kind], done=False)


@mail_pages.post("/no-more-mail/<key>")
def turn_off(key: str) -> Response:
    """Turn this kind off. A mail program's own button sends this, too."""
    with site().sessions.begin() as session:
        mail = _found(session, key)
        kind = mail.kind
        person = session.get_one(Person, mail.person_id, with_for_update=True)
        person.mails_off = " ".join(sorted({*person.mails_off.split(), kind}))
    return Response(render_template(_PAGE, title=MAIL_TITLES[kind], done=True))


def _found(session: Session, key: str) -> Mail:
    # PostgreSQL refuses to compare a text with a NUL.
    query = select(Mail).where(Mail.key == key, Mail.kind.in_(CHOSEN_MAILS))
    mail = session.scalar(query) if key.isprintable() else None
    if mail is None:
        raise nothing_here()
    return mail
