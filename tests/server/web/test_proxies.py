"""Whose address counts, with proxies in between and without."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask, request

from server.settings import SettingError, Settings, read_settings
from server.web.app import attach_proxies
from tests.server.web.conftest import NOBODY, settings

GIVEN = {"DATABASE_URL": "sqlite://", "REDIS_URL": NOBODY}


def answer(given: Settings, **headers: str) -> str:
    app = Flask("here")
    attach_proxies(app, given)
    app.add_url_rule("/", view_func=lambda: f"{request.remote_addr} {request.scheme} {request.host}")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with app.test_client().get("/", headers=named, environ_base={"REMOTE_ADDR": "10.0.0.1"}) as found:
        return found.get_data(as_text=True)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [(0, "203.0.113.9", "10.0.0.1"), (1, "203.0.113.9", "203.0.113.9"), (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
     (2, "6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"), (2, "203.0.113.9", "10.0.0.1")],
)  # fmt: skip
def test_only_what_our_own_proxies_added_counts(proxies, forwarded, address):
    given = replace(settings("sqlite://"), proxies=proxies)
    assert answer(given, X_Forwarded_For=forwarded).split()[0] == address


def test_the_name_of_the_site_comes_from_no_such_header():
    given = replace(settings("sqlite://"), proxies=1)
    told = answer(given, X_Forwarded_For="203.0.113.9", X_Forwarded_Proto="https", X_Forwarded_Host="evil")
    assert told == "203.0.113.9 https localhost"


def test_the_setting():
    assert read_settings(GIVEN).proxies == 0
    assert read_settings({**GIVEN, "TILELAB_PROXIES": "2"}).proxies == 2
    for wrong in ("-1", "inf", "nan", "two"):
        with pytest.raises(SettingError, match="TILELAB_PROXIES"):
            read_settings({**GIVEN, "TILELAB_PROXIES": wrong})
