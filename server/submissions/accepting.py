"""Handing in over the web, by page or program: one moment, and the same limits for both."""

from __future__ import annotations

from server.submissions.allowance import MOST_A_DAY
from server.submissions.service import Accepted, HandedIn, accept
from server.web.bounded import arrived
from server.web.site import site


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
