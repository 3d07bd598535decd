"""One REDIS_URL for Celery and for redis-py, and no wait without a bound."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from itertools import islice

import pytest

from tests.services.redis_server import RedisServer
from worker.contract.broker import (
    RECORD_TASK,
    BrokerUnavailable,
    BrokerUrlError,
    Inbox,
    ResultSender,
    body_in,
    broker_errors,
    celery_app,
    connect_redis,
    queue_length,
    read_redis_url,
)
from worker.contract.messages import MessageError


@pytest.mark.parametrize("place", [None, "socket"])
def test_one_url_is_enough_for_both(tmp_path, place):
    with RedisServer(tmp_path, port=place) as server, connect_redis(server.url) as client:
        sender = ResultSender(celery_app(server.url))
        assert queue_length(client, "results") == 0
        sender.send("body of a result")
        assert queue_length(client, "results") == 1
        sent = json.loads(str(client.lindex("results", 0)))
        assert sent["headers"]["task"] == RECORD_TASK
        assert json.loads(b64decode(sent["body"]))[0] == ["body of a result"]
        assert "body" not in json.dumps(sent["headers"]) + json.dumps(sent["properties"]["argsrepr"])

        server.kill()
        for act in (lambda: sender.send("x"), lambda: queue_length(client, "results")):
            with pytest.raises(BrokerUnavailable) as caught:
                act()
            assert "\n" not in str(caught.value)
            assert str(server.socket or server.port) in str(caught.value)
            assert server._password not in str(caught.value)
        server.start()
        sender.send("x")
        assert queue_length(client, "results") == 1
        server.stop()
        server.start()
        sender.send("x")
        assert queue_length(client, "results") == 1, "a connection that broke unseen is made anew at once"
        sender.close()


def test_results_are_taken_in_their_order_and_put_back_in_front(tmp_path):
    with RedisServer(tmp_path) as server, connect_redis(server.url) as client:
        inbox, sender = Inbox(client, "results"), ResultSender(celery_app(server.url))
        assert list(inbox.waiting(0.01)) == []
        for body in "abc":
            sender.send(body)
        first, second = islice(inbox.waiting(1), 2)
        assert [body_in(first), body_in(second)] == ["a", "b"]
        inbox.put_back([first, second])
        assert [body_in(message) for message in inbox.waiting(1)] == ["a", "b", "c"]
        inbox.put_back([])
        client.lpush("results", b"\xff", "{}")
        for message in inbox.waiting(1):
            with pytest.raises(MessageError):
                body_in(message)
        waiting = inbox.waiting(1)
        sender.send("d")
        assert body_in(next(waiting)) == "d"
        server.kill()
        assert list(waiting) == [], "what was taken before isn't lost"
        with pytest.raises(BrokerUnavailable):
            next(inbox.waiting(1))
        sender.close()


def test_a_redis_that_hangs_is_waited_for_only_so_long(tmp_path):
    with RedisServer(tmp_path) as server, connect_redis(server.url, answer_seconds=1) as client:
        sender = ResultSender(celery_app(server.url))
        sender.send("x")
        server.pause()
        for _ in range(2):
            begun = time.monotonic()
            with pytest.raises(BrokerUnavailable):
                sender.send("x")
            assert time.monotonic() - begun < 20, "unbounded waits end with the test's own limit"
        with pytest.raises(BrokerUnavailable):
            queue_length(client, "results")
        server.resume()
        sender.send("x")
        assert queue_length(client, "results") >= 2
        sender.close()


def test_a_wrong_password_is_said_in_one_line(tmp_path):
    with RedisServer(tmp_path) as server:
        wrong = f"redis://:other-word@127.0.0.1:{server.port}/0"
        with connect_redis(wrong) as client:
            for act in (lambda: queue_length(client, "x"), lambda: ResultSender(celery_app(wrong)).send("x")):
                with pytest.raises(BrokerUnavailable, match="refuses the password") as caught:
                    act()
                assert "other-word" not in str(caught.value)


def test_a_redis_that_is_full_is_called_so_and_goes_on_with_more_memory(tmp_path):
    with RedisServer(tmp_path) as server, connect_redis(server.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1")
        sender = ResultSender(celery_app(server.url))
        with pytest.raises(BrokerUnavailable, match="is full"):
            sender.send("x")
        with pytest.raises(BrokerUnavailable, match="is full"), broker_errors(client):
            client.set("x", "x")
        client.config_set("maxmemory", "0")
        sender.send("x")
        assert queue_length(client, "results") == 1
        sender.close()


@pytest.mark.parametrize(
    "url", ["", "amqp://:word@host/", "redis://:word@host:port/0", "redis://:word@host/name", "unix://", "redis"]
)
def test_what_is_no_address_of_redis_is_refused(url):
    for use in (celery_app, connect_redis):
        with pytest.raises(BrokerUrlError) as caught:
            use(url)
        assert "word" not in str(caught.value)


def test_a_certificate_is_checked_unless_the_address_says_otherwise():
    app = celery_app("rediss://:word@host:7000/2?ssl_ca_certs=/etc/ca.pem")
    assert app.conf.broker_use_ssl["ssl_cert_reqs"].name == "CERT_REQUIRED"
    assert app.conf.broker_use_ssl["ssl_ca_certs"] == "/etc/ca.pem"
    with connect_redis("rediss://host:7000/2?ssl_cert_reqs=none") as client:
        assert client.connection_pool.connection_kwargs["ssl_cert_reqs"].name == "CERT_NONE"
    with connect_redis("rediss://host:7000/2") as client:
        assert client.connection_pool.connection_kwargs["ssl_cert_reqs"].name == "CERT_REQUIRED"


def test_a_password_with_any_character_reaches_both(tmp_path):
    app = celery_app("redis://:a%2Fb%3A%40c@host:7000/3")
    connection = app.connection_for_write()
    assert (connection.password, connection.hostname, connection.port) == ("a/b:@c", "host", 7000)
    with connect_redis("redis://:a%2Fb%3A%40c@host:7000/3") as client:
        assert client.connection_pool.connection_kwargs["password"] == "a/b:@c"
        assert client.connection_pool.connection_kwargs["db"] == 3


def test_the_address_comes_from_the_environment_or_a_file(tmp_path):
    secret = tmp_path / "url"
    secret.write_text("redis://host/1\n")
    assert read_redis_url({"REDIS_URL": "redis://host/0"}) == "redis://host/0"
    assert read_redis_url({"REDIS_URL_FILE": str(secret)}) == "redis://host/1"
    for given in ({}, {"REDIS_URL_FILE": str(tmp_path / "none")}, {"REDIS_URL": "http://localhost"}):
        with pytest.raises(BrokerUrlError, match="REDIS_URL"):
            read_redis_url(given)
