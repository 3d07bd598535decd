"""The API with which a command line signs in: it needs no token, and gets one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flask import Blueprint, Response, jsonify, request

from server.accounts import device_login
from server.accounts.device_login import INTERVAL, LIFETIME, Waits
from server.accounts.identity import too_many_requests
from server.accounts.limits import Limit, TooOften, by_address, count
from server.accounts.service import AccountError
from server.fields import Text
from server.http.json_body import read_body, refuse_other_types
from server.http.operation import operation
from server.http.problems import Refused
from server.http.site import site

device_logins = Blueprint("device_logins", __name__)

_BEGUN = Limit("device logins", 300, LIFETIME)
"""From one address, which a class may share."""
_PROBLEMS = {
    Waits.PENDING: (409, "login_pending", "No one confirmed the code yet", "Ask again."),
    Waits.TOO_SOON: (429, "too_often", "You ask too often", f"Ask once in {INTERVAL.seconds} s."),
    Waits.REFUSED: (403, "login_refused", "The sign-in was refused", "Someone pressed Refuse on the page."),
    Waits.OVER: (404, "login_over", "The code expired", "Start again, and confirm the new code within 10 minutes."),
}


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A command line that wants to sign in. host: the name of its machine, for the person who confirms."""

    host: Annotated[str, Text(longest=200)] = ""


@dataclass(frozen=True, slots=True)
class LoginAnswer:
    """The codes of a sign-in.

    device_code: to ask for the token; keep it to yourself
    user_code: for the person, who types it on the page /login
    interval: seconds between two questions; expires_in: seconds until both codes end
    """

    device_code: str
    user_code: str
    interval: int
    expires_in: int


@dataclass(frozen=True, slots=True)
class LoginTokenRequest:
    """A command line that waits for its token."""

    device_code: Annotated[str, Text("[A-Za-z0-9_-]*", longest=100)]


@dataclass(frozen=True, slots=True)
class LoginTokenAnswer:
    """The token, which is shown only once."""

    token: str


@device_logins.post("/login")
@operation(LoginAnswer, status=201, takes=LoginRequest, token=False)
def begin_login() -> Response:
    """Begin to sign in a command line. A person confirms its code in a browser."""
    refuse_other_types()
    asked = read_body(LoginRequest, request.get_data())
    try:
        count(site().sessions, _BEGUN, by_address(request.remote_addr or ""))
    except TooOften as often:
        raise too_many_requests(_BEGUN, often) from often
    with site().sessions.begin() as session:
        secret, code = device_login.begin(session, asked.host)
    shown = f"{code[:4]}-{code[4:]}"
    answer = jsonify(LoginAnswer(secret, shown, INTERVAL.seconds, LIFETIME.seconds))
    answer.status_code = 201
    return answer


@device_logins.post("/login/token")
@operation(
    LoginTokenAnswer, takes=LoginTokenRequest, token=False,
    refuses={
        403: "The person refused.", 404: "The code expired, or was used.",
        409: "No one confirmed the code yet, or the person has too many tokens.",
    },
)  # fmt: skip
def take_token() -> Response:
    """Get the token, once a person confirmed the code."""
    refuse_other_types()
    asked = read_body(LoginTokenRequest, request.get_data())
    try:
        with site().sessions.begin() as session:
            given = device_login.token_for(session, asked.device_code)
    except AccountError as error:
        raise Refused(409, "too_many_tokens", "You have too many tokens", str(error)) from error
    if isinstance(given, Waits):
        wait = {Waits.PENDING, Waits.TOO_SOON}
        headers = {"Retry-After": str(INTERVAL.seconds)} if given in wait else {}
        raise Refused(*_PROBLEMS[given], headers)
    return jsonify(LoginTokenAnswer(given))
