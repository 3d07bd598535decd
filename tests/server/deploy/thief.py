"""What one does with a worker's stolen address, in REDIS_URL. Arguments: the other worker's ID, and its job's number.

It prints a line of JSON with what Redis permitted, and a line when Redis doesn't know the user any more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace

import redis

from tests.server.fleet.test_broker_users import ATTEMPTS, permitted
from worker.contract.broker import ResultSender, body_in, celery_app, connect_redis
from worker.contract.credential import read_credential, seal
from worker.contract.messages import StepKind, StepMessage, StepResult, Ticket, decode, encode

GARBAGE = 2000
"""Messages that are no result."""


def forged(url: str, other: str, job: int, taken: Ticket) -> list[str]:
    """Results of the other's attempt, without its token, and of an attempt that the thief took."""
    own = read_credential(url)
    name, mine = other.partition(".")[0], f"{own.name}.thief/cpu-0"
    guessed = Ticket(job, StepKind.CHECK, "0" * 32)
    theirs = encode(StepResult(guessed, f"{other}/cpu-0", None, fault="forged"))
    of_mine = seal(own, encode(StepResult(taken, mine, None, graded="0" * 64)))
    return [
        theirs,
        seal(own, theirs),
        seal(replace(own, name=name), theirs),
        seal(own, encode(StepResult(guessed, mine, None, fault="forged"))),
        seal(own, encode(StepResult(replace(taken, job=job), mine, None, fault="replayed"))),
        of_mine.replace(own.name, name, 1),
        of_mine,
    ]


def main(url: str, other: str, job: int) -> None:
    own = read_credential(url)
    with connect_redis(url) as client:
        _, message = client.brpop(["cpu"], 60)
        body = body_in(message)
        tried = {
            what: permitted(client, command.replace("mine.", f"{own.name}.").replace("other.1", other))
            for what, command, _ in ATTEMPTS
        }
        client.set(f"tilelab:worker:{own.name}.thief", json.dumps({"id": other, "state": "drained"}))
        client.sadd("tilelab:worker-ids", f"{own.name}.thief")
        sender = ResultSender(celery_app(url))
        for result in forged(url, other, job, decode(StepMessage, body).ticket):
            sender.send(result)
        sender.close()
        for _ in range(GARBAGE):
            client.lpush("results", "x" * 1000)
        print(json.dumps(tried), flush=True)
        try:
            while client.ping():
                time.sleep(0.05)
        except redis.RedisError as error:
            print("closed:", type(error).__name__, flush=True)
    with connect_redis(url) as client:
        try:
            client.ping()
        except redis.AuthenticationError:
            print("unknown", flush=True)


if __name__ == "__main__":
    main(os.environ["REDIS_URL"], sys.argv[1], int(sys.argv[2]))
