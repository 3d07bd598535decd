"""Optional writes, such as when a token was last used. A request succeeds even if its note can't be written."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from server.database.faults import Outlook, outlook
from server.http.site import site

logger = logging.getLogger(__name__)


def note(write: Callable[[Session], None]) -> None:
    """Write a note if that works at once; otherwise a later request writes it."""
    try:
        with site().notes.begin() as session:
            write(session)
    except (DBAPIError, PoolTimeout) as error:
        if isinstance(error, DBAPIError) and outlook(error) is Outlook.LASTS:
            raise
        logger.info("skipped a note: %s", type(error).__name__)
