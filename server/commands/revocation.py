"""Revokes steps of cancelled jobs at the workers that run them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from worker.contract.messages import Ticket


def revoke(tickets: Sequence[Ticket]) -> None:
    """Stop the workers that run these attempts, if REDIS_URL says how to reach them. Never fails.

    Call it after the transaction that ended the attempts. The database ignores results of workers that don't hear
    it.
    """
    if not tickets:
        return
    from worker.contract.broker import BrokerUrlError, connect_redis, read_redis_url
    from worker.contract.redis_claims import RedisClaims

    with suppress(BrokerUrlError, ConnectionError), connect_redis(read_redis_url(os.environ)) as client:
        claims = RedisClaims(client)
        for ticket in tickets:
            claims.revoke(ticket)
