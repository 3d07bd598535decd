from __future__ import annotations

import time

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from tests.services.processes import alive
from tests.services.redis_server import RedisServer


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path) as started:
        yield started


def pid_of(server):
    assert server.process
    return server.process.pid


def test_a_killed_one_comes_back_empty_at_the_same_address(server):
    address, first = server.url, pid_of(server)
    with server.client() as client:
        client.set("key", "value")
        server.kill()
        assert not alive(first)
        with pytest.raises(RedisError):
            client.ping()
        server.start()
        assert server.url == address
        assert client.dbsize() == 0


def test_one_that_writes_its_commands_down_loses_none(tmp_path):
    with RedisServer(tmp_path, appendonly=True) as server:
        with server.client() as client:
            client.set("key", "value")
        server.kill()
        server.start()
        with server.client() as client:
            assert client.get("key") == b"value"


def test_a_paused_one_keeps_its_clients_waiting(server):
    with server.client() as client:
        client.ping()
        server.pause()
        began = time.monotonic()
        with pytest.raises(RedisError):
            client.ping()
        assert time.monotonic() - began > 1
        server.resume()
        assert client.ping()


def test_a_paused_one_can_be_stopped(server):
    process = pid_of(server)
    server.pause()
    server.stop()
    assert not alive(process)


def test_one_on_a_socket_comes_back_there(tmp_path):
    folder = tmp_path / ("a long name for a folder " * 5)
    with RedisServer(folder, port="socket") as server:
        address = server.url
        server.kill()
        server.start()
        assert server.url == address
        with server.client() as client:
            assert client.ping()
    assert server.socket
    assert not server.socket.exists()


def test_nobody_comes_in_without_the_password(server):
    with Redis(port=server.port, retry=Retry(NoBackoff(), 0)) as client, pytest.raises(AuthenticationError):
        client.ping()


def test_the_fixture_begins_with_nothing_each_time(redis_url, redis_server):
    assert redis_url == redis_server.url
    with redis_server.client() as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


def test_the_fixture_begins_with_nothing_the_second_time(redis_url, redis_server):
    with redis_server.client() as client:
        assert client.dbsize() == 0
        client.set("left", "behind")
