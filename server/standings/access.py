"""The assignment that a page is about, for whoever may see it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.access import Viewer, nothing_here, viewer
from server.courses.access import Membership, member_of
from server.courses.models import Assignment
from server.courses.service import find_assignment, is_shown

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at a page of an assignment, and as what."""

    viewer: Viewer
    course: Membership

    @property
    def is_staff(self) -> bool:
        """Whether everyone's work may be seen."""
        return self.course.is_staff


def reader_of(course: str, assignment: str) -> Reader:
    """Who asks; refuses those who are not in the course, and names that cannot be one."""
    if not (_NAME.fullmatch(course) and _NAME.fullmatch(assignment)):
        viewer()
        raise nothing_here()
    return Reader(viewer(), member_of(course))


def assignment_for(session: Session, reader: Reader, slug: str) -> Assignment:
    """The assignment; students see it once it is open, and while it is listed."""
    found = find_assignment(session, f"{reader.course.slug}/{slug}")
    if found is None or not is_shown(found, reader.course.role, datetime.now(UTC)):
        raise nothing_here()
    return found
