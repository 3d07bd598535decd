"""Import all tables, as queries and migrations need."""

from __future__ import annotations

from server.accounts import models as accounts
from server.audit import models as audit
from server.courses import models as courses
from server.database.base import Base
from server.experiments import models as experiments
from server.fleet import models as fleet
from server.grading import models as grading
from server.lti import models as lti
from server.mail import models as mail
from server.standings import models as standings
from server.submissions import models as submissions
from server.talk import models as talk
from server.teams import models as teams

__all__ = [
    "Base",
    "accounts",
    "audit",
    "courses",
    "experiments",
    "fleet",
    "grading",
    "lti",
    "mail",
    "standings",
    "submissions",
    "talk",
    "teams",
]
