"""What holds for every answer, and what is told of the server's own health."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, text

from server.accounts.models import Person
from server.courses.models import Role
from server.courses.service import create_course, enrol
from server.database.engine import connect
from server.web.app import create_app
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import started
from tests.server.web.conftest import Portal, settings
from tests.server.web.signed_in import client_of


def test_every_answer_shuts_the_browser_in(portal: Portal):
    for path in ("/", "/healthz", "/api/v1/none", "/none", "/api/v1/submissions/a"):
        with portal.client.get(path) as answer:
            headers = answer.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers
        assert headers["Cache-Control"] == "no-store"


@ON_SQLITE
def test_the_start_page_says_what_runs_here(portal: Portal):
    page = portal.client.get("/", headers={"Host": 'a"><script>'})
    assert page.status_code in {200, 400}
    page = portal.client.get("/")
    body = page.get_data(as_text=True)
    assert page.content_type.startswith("text/html")
    assert "/healthz" in body
    assert "/api/v1/submissions" in body
    assert "width=device-width" in body
    assert "<style" not in body
    assert all("></script>" in script for script in re.findall(r"<script.*", body)), "scripts come from files alone"
    missing = portal.client.get("/none")
    assert missing.status_code == 404
    assert "start page" in missing.get_data(as_text=True)


@ON_SQLITE
def test_links_that_leave_the_portal_name_it_as_its_operator_does(portal: Portal):
    ada, at = client_of(portal, "ada"), portal.app.extensions["tilelab"]
    address = f"/submissions/{portal.post('ada').get_json()['id']}"
    assert 'data-copy-text="http://localhost/submissions/' in ada.page(address)
    told = replace(at.settings, public_url="http://tilelab.example")
    portal.app.extensions["tilelab"] = replace(at, settings=told)
    assert 'data-copy-text="http://tilelab.example/submissions/' in ada.page(address)
    made = ada.post_form("/account/tokens", name="laptop", days="30").get_data(as_text=True)
    assert "tilelab login http://tilelab.example" in made
    start = portal.client.get("/", headers={"Host": "elsewhere.example"}).get_data(as_text=True)
    assert "curl http://tilelab.example/api/v1/" in start
    assert "elsewhere" not in start


def test_it_is_ready_with_its_database_also_without_a_broker(portal: Portal, redis_url: str):
    assert portal.client.get("/healthz").get_json() == {"status": "alive"}
    assert portal.client.get("/readyz").get_json() == {
        "status": "ready", "database": "current", "broker": "away",
    }  # fmt: skip
    app = create_app(settings(portal.app.extensions["tilelab"].settings.database_url, redis_url))
    assert app.test_client().get("/readyz").get_json()["broker"] == "reachable"
    app.extensions["tilelab"].engine.dispose()


def test_it_is_not_ready_with_a_schema_of_another_version(portal: Portal, caplog):
    with portal.app.extensions["tilelab"].engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'of-tomorrow'"))
    answer = portal.client.get("/readyz")
    assert answer.status_code == 503
    assert "newer" not in answer.get_json(force=True)["detail"]
    assert "newer" in caplog.text
    assert portal.client.get("/healthz").status_code == 200


def test_a_database_that_is_away_costs_nothing_but_time(tmp_path: Path):
    urls = (f"sqlite:///{tmp_path}/none/tilelab.db", "postgresql://tilelab:geheim@127.0.0.1:1/tilelab")
    for url in urls:
        app = create_app(settings(url))
        client = app.test_client()
        assert client.get("/healthz").status_code == 200
        ready = client.get("/readyz")
        headers = {"Authorization": "Bearer tl_any"}
        posted = client.post("/api/v1/submissions", json={}, headers=headers)
        for answer in (ready, posted):
            assert answer.status_code == 503
            assert answer.content_type == "application/problem+json"
            assert int(answer.headers["Retry-After"]) > 0
            for secret in ("geheim", "127.0.0.1", str(tmp_path)):
                assert secret not in answer.get_data(as_text=True)
        app.extensions["tilelab"].engine.dispose()


def test_it_is_looked_at_once_however_often_it_is_asked(portal: Portal, monkeypatch: pytest.MonkeyPatch):
    looks: list[Engine] = []
    monkeypatch.setattr("server.web.health.check", looks.append)
    monkeypatch.setattr("server.web.health._HOLDS_SECONDS", 3600.0)
    answers = [portal.client.get("/readyz").get_json() for _ in range(3)]
    assert answers == [answers[0]] * 3
    assert len(looks) == 1


def test_nobody_waits_for_a_look_that_hangs(portal: Portal, monkeypatch: pytest.MonkeyPatch):
    hanging, over = Event(), Event()
    monkeypatch.setattr("server.web.health._HOLDS_SECONDS", 0.0)
    assert portal.client.get("/readyz").status_code == 200

    def hang(_engine: Engine) -> None:
        hanging.set()
        over.wait(60)

    monkeypatch.setattr("server.web.health.check", hang)
    first = Thread(target=portal.app.test_client().get, args=("/readyz",))
    first.start()
    try:
        assert hanging.wait(10)
        assert portal.client.get("/readyz").status_code == 200
        monkeypatch.setattr("server.web.health._HANGS_SECONDS", 0.0)
        assert portal.client.get("/readyz").status_code == 503
    finally:
        over.set()
        first.join()


def test_a_fault_of_ours_is_told_as_one_and_gives_nothing_away(portal: Portal, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise ValueError("secret detail")

    monkeypatch.setattr("server.submissions.api.read_submission", broken)
    answer = portal.get("ada", "/api/v1/submissions/abc")
    assert answer.status_code == 500
    assert "secret" not in answer.get_data(as_text=True)


def test_an_address_of_a_database_that_is_none_is_noticed_at_the_start():
    from server.database.engine import DatabaseUnavailable

    with pytest.raises(DatabaseUnavailable):
        create_app(settings("mysql://x"))
    connect("sqlite://").dispose()


def test_style_and_scripts_have_addresses_that_hold_for_good(portal: Portal):
    page = portal.client.get("/").get_data(as_text=True)
    addresses = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page)
    assert len(addresses) >= 2
    for address in addresses:
        with portal.client.get(address) as answer:
            assert answer.status_code == 200, address
            assert "immutable" in answer.headers["Cache-Control"]
    assert portal.client.get(re.sub(r"/assets/\w+/", "/assets/0000/", addresses[0])).status_code == 404


def test_what_a_browser_can_unpack_comes_packed(portal: Portal):
    page = portal.client.get("/").get_data(as_text=True)
    address = re.findall(r'"(/assets/\w+/tilelab.css)"', page)[0]
    with portal.client.get(address, headers={"Accept-Encoding": "gzip, br"}) as answer:
        packed = answer.get_data()
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Vary"] == "Accept-Encoding"
    with portal.client.get(address) as answer:
        assert gzip.decompress(packed) == answer.get_data()
        assert len(packed) < len(answer.get_data()) / 2


@ON_SQLITE
def test_a_page_about_a_submission_leads_to_the_staff_area_of_its_course(portal: Portal) -> None:
    public = portal.course.hand_in("ada").submission.public_id
    experiment = started(portal.course, "ada", assignment=portal.course.assignment)
    tom = client_of(portal, "tom", Role.ASSISTANT)
    with portal.course.sessions.begin() as session:
        other = create_course(session, "other", "Other")
        enrol(session, other, session.get_one(Person, portal.course.people["tom"]), Role.ASSISTANT)
    for page in (f"submissions/{public}", f"submissions/{public}/comments", f"experiments/{experiment}"):
        found = re.search(r'<nav aria-label="Site">.*?</nav>', tom.page(f"/{page}"), re.DOTALL)
        assert found is not None
        assert re.findall(r'href="(/staff/[^"]+)"', found[0]) == ["/staff/gpu/"], page
    assert "/staff/" not in tom.page("/account").partition("</nav>")[0]
