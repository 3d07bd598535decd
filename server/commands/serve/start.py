"""Settings, log and database for the parts of the server as they start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from worker.commands.root import SystemFault

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from server.settings import Settings


def database_from(process: str) -> tuple[Settings, Engine]:
    """The settings and the database of this process. Raises SystemFault for an invalid setting."""
    # the choice of an experiment's next points is too small for several threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from server.database.engine import DatabaseUnavailable, connect
    from server.settings import SettingError, read_settings
    from worker.contract.logging import LogSettingError, configure, name_process

    try:
        settings = read_settings()
        configure()
        engine = connect(settings.database_url, repeats=True)
    except (SettingError, LogSettingError, DatabaseUnavailable) as error:
        raise SystemFault(str(error)) from error
    name_process(process=process)
    return settings, engine


def redis_address(settings: Settings) -> str:
    """The address in REDIS_URL. Raises SystemFault if it is invalid."""
    from worker.contract.broker import BrokerUrlError, celery_app

    try:
        celery_app(settings.redis_url)
    except BrokerUrlError as error:
        raise SystemFault(str(error)) from error
    return settings.redis_url
