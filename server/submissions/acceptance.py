"""Handing in over the web, by page or program: one moment, and the same limits for both."""

from __future__ import annotations

from server.database.storage import is_nearly_full
from server.http.bounded import arrived
from server.http.site import site
from server.submissions.allowance import MOST_A_DAY
from server.submissions.refusals import DiskFull
from server.submissions.service import Accepted, HandedIn, accept, find_earlier


def refuse_if_full(handed_in: HandedIn) -> None:
    """Raise DiskFull while there is only room left for what was accepted already, which may be this one, sent again.

    Comes before anything is written.
    """
    here = site()
    if not is_nearly_full(here.engine, here.settings.free_mb):
        return
    with here.readers.begin() as session:
        again = find_earlier(session, handed_in) is not None
    if not again:
        raise DiskFull(
            "The server has almost no disk space left, so nothing was stored. Tell your course's staff, and submit "
            "again later."
        )


def accept_request(handed_in: HandedIn) -> Accepted:
    """Take what the present request hands in, as of when all of it was here.

    raise (NotAccepted): as `accept` does
    """
    return accept(
        site().sessions,
        handed_in,
        arrived(),
        most_under_way=site().settings.under_way,
        most_a_day=MOST_A_DAY,
    )
