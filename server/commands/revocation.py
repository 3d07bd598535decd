"""Tell workers that nobody wants what they are at any more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from worker.contract.messages import Ticket


def revoke(tickets: Sequence[Ticket]) -> None:
    """Let workers hear of it at once, where REDIS_URL says how to reach them. It never fails.

    For after the transaction that ended these attempts. One who does not hear works in vain: the database takes no
    result of them any more.
    """
    if not tickets:
        return
    from worker.contract.broker import BrokerUrlError, connect_redis, read_redis_url
    from worker.contract.redis_claims import RedisClaims

    with suppress(BrokerUrlError, ConnectionError), connect_redis(read_redis_url(os.environ)) as client:
        claims = RedisClaims(client)
        for ticket in tickets:
            claims.revoke(ticket)
