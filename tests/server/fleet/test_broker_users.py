"""What a worker's address permits in a real Redis: everything that a worker needs, and a stolen one little else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from redis.exceptions import NoPermissionError

from server.fleet.broker_users import BrokerUsers, rights, users_of
from server.fleet.models import WorkerKey
from tests.server.compose_file import ROOT
from tests.server.course import NOW
from tests.services.redis_server import A_WORKER, RedisServer, as_worker
from worker.contract.broker import STEP_TASK, Sender, celery_app, connect_redis, worker_in
from worker.contract.credential import Credential, password_digest, password_in, seal, unseal

MINE = Credential("mine", ("cpu", "gpu.h200"), "a1" * 32)
OTHER = Credential("other", ("gpu",), "b2" * 32)

ATTEMPTS = (
    ("take a waiting message of its own queues, and read its source", "BRPOP cpu 1", True),
    ("look at its queue's other messages", "LRANGE cpu 0 -1", False),
    ("put or change a message in its own queue", "LPUSH cpu x", False),
    ("take a message of another queue", "BRPOP gpu.h100 1", False),
    ("add a result, which counts only with a valid signature", "LPUSH results x", True),
    ("read or take others' results", "BRPOP results 1", False),
    ("read what another worker has taken and not acknowledged", "HGETALL unacked", False),
    ("claim or end an attempt whose random token it knows", "SET tilelab:claim:1:check:t x", True),
    ("find attempts of others, or any key", "SCAN 0", False),
    ("delete a claim", "DEL tilelab:claim:1:check:t", False),
    ("report as itself", "SET tilelab:worker:mine.1 x", True),
    ("report as another worker", "SET tilelab:worker:other.1 x", False),
    ("drain another worker", "SET tilelab:wanted:other.1 drain", False),
    ("add a name to the set of workers", "SADD tilelab:worker-ids x", True),
    ("remove another worker from it", "SREM tilelab:worker-ids other.1", False),
    ("show false progress of a job until its verdict comes", "PUBLISH tilelab:progress:1 x", True),
    ("show false output of a job until its verdict comes", "SET tilelab:printed:1 x", True),
    ("read the output of a job", "GET tilelab:printed:1", False),
    ("listen to the progress of others", "PSUBSCRIBE *", False),
    ("change settings such as the limit of memory", "CONFIG SET maxmemory-policy allkeys-lru", False),
    ("make or read users", "ACL LIST", False),
    ("delete everything", "FLUSHALL", False),
    ("watch all commands", "MONITOR", False),
    ("run a script", "EVAL return 0", False),
    ("close others' connections", "CLIENT KILL TYPE normal", False),
    ("stop Redis", "SHUTDOWN NOSAVE", False),
    ("see or load modules", "MODULE LIST", False),
    ("copy a key to another server", "MIGRATE 127.0.0.1 1 cpu 0 1", False),
)


def key_of(credential: Credential, password: str = "") -> WorkerKey:
    return WorkerKey(
        name=credential.name, queues=" ".join(credential.queues), key=credential.key, added_at=NOW,
        password_digest=password_digest(password or password_in(as_worker("redis://h/0", credential))),
    )  # fmt: skip


@pytest.fixture
def server(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with connect_redis(redis_server.url) as client:
        client.flushall()
        yield client
        BrokerUsers(client).apply([key_of(A_WORKER)])


def connected(redis_server: RedisServer, credential: Credential) -> redis.Redis:
    return connect_redis(as_worker(redis_server.url, credential))


def permitted(client: redis.Redis, command: str) -> bool:
    try:
        client.execute_command(*command.split())
    except NoPermissionError:
        return False
    except redis.ResponseError:
        pass  # permitted, but wrong for this key
    return True


def test_a_stolen_address_can_do_what_the_table_says(redis_server, server):
    BrokerUsers(server).apply([key_of(MINE), key_of(OTHER)])
    server.lpush("cpu", "a message")
    with connected(redis_server, MINE) as stolen:
        found = {what: permitted(stolen, command) for what, command, _ in ATTEMPTS}
    assert found == {what: answer for what, _, answer in ATTEMPTS}


def test_a_stolen_address_leads_no_message_elsewhere(redis_server, server):
    BrokerUsers(server).apply([key_of(MINE), key_of(OTHER)])
    with connected(redis_server, MINE) as stolen:
        for queue in ("cpu", "results"):
            stolen.sadd(f"_kombu.binding.{queue}", f"{queue}\x06\x16\x06\x16gpu.h200")
    senders = (Sender(celery_app(redis_server.url)), Sender(celery_app(as_worker(redis_server.url, OTHER))))
    for sender, queue in zip(senders, ("cpu", "results"), strict=True):
        sender.send(STEP_TASK, queue, "body")
        sender.close()
    assert [server.llen(queue) for queue in ("cpu", "results", "gpu.h200")] == [1, 1, 0]


def test_the_page_shows_this_table():
    page = (ROOT / "docs" / "security.md").read_text()
    rows = "".join(f"| {what} | {'yes' if answer else 'no'} |\n" for what, _, answer in ATTEMPTS)
    assert rows in page


def test_no_command_of_a_worker_is_for_administrators(server):
    words = " ".join(rights(MINE.name, MINE.queues)).replace("(", "").replace(")", "").split()
    commands = {word[1:] for word in words if word.startswith("+")}
    assert "brpop" in commands
    for category in ("admin", "dangerous", "scripting"):
        assert not commands & set(server.acl_cat(category))


def test_a_user_of_a_key_that_ended_is_gone_with_its_connections(redis_server, server):
    users = BrokerUsers(server)
    users.apply([key_of(MINE), key_of(OTHER)])
    with connected(redis_server, MINE) as mine, connected(redis_server, OTHER) as other:
        assert mine.ping()
        users.apply([key_of(OTHER)])
        assert other.ping()
        with pytest.raises(redis.AuthenticationError):
            mine.ping()


def test_a_password_that_ended_closes_its_connections_but_a_second_one_does_not(redis_server, server):
    users = BrokerUsers(server)
    users.apply([key_of(MINE)])
    with connected(redis_server, MINE) as mine:
        assert mine.ping()
        users.apply([key_of(MINE, "new"), key_of(MINE)])
        assert mine.ping()
        BrokerUsers(server).apply([key_of(MINE, "new")])
        with pytest.raises(redis.AuthenticationError):
            mine.ping()


def test_both_passwords_of_a_replaced_key_are_valid(redis_server, server):
    BrokerUsers(server).apply([key_of(MINE, "new"), key_of(MINE)])
    for password in ("", "new"):
        url = as_worker(redis_server.url, MINE)
        url = url.replace(url.split(":")[2].split("@")[0], password) if password else url
        with connect_redis(url) as client:
            assert client.ping()


def test_users_come_back_after_redis_forgot_them(redis_server, server):
    users = BrokerUsers(server)
    users.apply([key_of(MINE)])
    server.acl_deluser("worker-mine")
    users.apply([key_of(MINE)])
    assert "worker-mine" in server.acl_users()


def test_the_users_of_a_dispatcher_that_slept_do_not_stay(redis_server, server):
    awake, slept = BrokerUsers(server), BrokerUsers(server)
    awake.apply([key_of(MINE, "new"), key_of(A_WORKER)])
    slept.apply([key_of(MINE), key_of(OTHER), key_of(A_WORKER)])
    with connected(redis_server, MINE) as old:
        assert old.ping()
        awake.apply([key_of(MINE, "new"), key_of(A_WORKER)])
        with pytest.raises(redis.AuthenticationError):
            old.ping()
    assert "worker-other" not in server.acl_users()


def test_a_redis_that_refuses_to_make_users_is_reported_once(redis_server, server, caplog):
    BrokerUsers(server).apply([key_of(MINE)])
    with connected(redis_server, MINE) as powerless:
        users = BrokerUsers(powerless)
        users.apply([key_of(OTHER)])
        users.apply([key_of(OTHER)])
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


def test_a_name_begins_only_its_own_keys():
    (rule,) = users_of([key_of(MINE)]).values()
    assert not [word for word in rule if "mine*" in word]
    assert worker_in(as_worker("redis://h/0", MINE)) == "mine"


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("mine:", "other:"),
        lambda text: text + "x",
        lambda text: "mine:" + text[69:],
        lambda text: f"mine:\ud800:{text[70:]}",
    ],
)
def test_a_signature_is_of_one_worker_and_one_result(changed):
    sealed = seal(MINE, "cmVzdWx0")
    assert unseal(sealed).signed_with(MINE.key)
    assert not unseal(sealed).signed_with(OTHER.key)
    assert not unseal(changed(sealed)).signed_with(MINE.key)
