"""A learning management system that is strict about what Tilelab sends, and signs whatever a test wants."""

from __future__ import annotations

import html
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from server.lti.launch import AGS, MEMBERS_SCOPE, NRPS, SCORE_SCOPE

KEY, OTHER, OURS = (RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}) for kid in ("ours", "other", "tilelab"))
HERE = "http://localhost"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
DL = "https://purl.imsglobal.org/spec/lti-dl/claim/"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
CLIENT, DEPLOYMENT = "tilelab-client", "deployment-1"

Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Platform:
    """The platform. A test changes what it says and how it fails.

    ours: gives the public keys of Tilelab
    scores: all that were taken, by line item and user; fails: gives an answer instead of taking a score, or None
    members: on each page of the roster
    claims: of all launches; user, opens: of those that begin on its own page
    refused: why our requests were refused
    """

    address: str = ""
    ours: Callable[[], dict[str, Any]] = dict
    scores: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    fails: Callable[[str], Answer | None] = lambda _path: None
    members: list[list[dict[str, Any]]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    granted: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    assertions: set[str] = field(default_factory=set)
    registered: dict[str, Any] = field(default_factory=dict)
    returned: list[dict[str, Any]] = field(default_factory=list)
    claims: dict[str, Any] = field(default_factory=dict)
    user: str = "ada"
    opens: str = "/lti/launch"

    def settings(self, **changed: Any) -> dict[str, Any]:
        """The columns of its registration."""
        return {
            "title": "Moodle", "issuer": self.address, "client_id": CLIENT, "deployments": [DEPLOYMENT],
            "authorization": f"{self.address}/auth", "token": f"{self.address}/token", "keys": f"{self.address}/keys",
            "domains": ["example.edu"], **changed,
        }  # fmt: skip

    def login(self, **changed: Any) -> dict[str, str]:
        """What a browser brings to us first."""
        made = {
            "iss": self.address, "login_hint": "u", "target_link_uri": f"{HERE}/lti/launch", "client_id": CLIENT,
            "lti_message_hint": "m", **changed,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not None}

    def said(self, nonce: str, /, user: str = "ada", role: str = "Learner", **changed: Any) -> dict[str, Any]:
        """The claims of a launch. changed: by name; None leaves one out."""
        now = int(time.time())
        made = {
            "iss": self.address, "aud": CLIENT, "sub": f"u-{user}", "nonce": nonce, "iat": now, "exp": now + 300,
            "name": user.title(), "email": f"{user}@example.edu",
            f"{CLAIM}deployment_id": DEPLOYMENT, f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}version": "1.3.0", f"{CLAIM}roles": [ROLE + role],
            f"{CLAIM}context": {"id": "c-1", "title": "GPU programming"},
            f"{CLAIM}resource_link": {"id": "l-1"}, f"{CLAIM}target_link_uri": f"{HERE}/courses/gpu/tiled/",
            AGS: {"scope": [SCORE_SCOPE], "lineitem": f"{self.address}/items/1?type=1"},
            NRPS: {"context_memberships_url": f"{self.address}/members", "service_versions": ["2.0"]},
            **self.claims, **changed,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not None}

    def choosing(self, nonce: str, /, **changed: Any) -> dict[str, Any]:
        """The claims of a request to choose an assignment."""
        settings = {
            "deep_link_return_url": f"{self.address}/return", "accept_types": ["ltiResourceLink"],
            "accept_presentation_document_targets": ["window"], "data": "of-the-platform",
        }  # fmt: skip
        more = {
            f"{CLAIM}message_type": "LtiDeepLinkingRequest", f"{CLAIM}resource_link": None,
            f"{DL}deep_linking_settings": settings,
        }  # fmt: skip
        return self.said(nonce, **{"user": "teacher", "role": "Instructor", **more, **changed})

    def signed(self, said: Mapping[str, Any], key: Any = KEY, **header: Any) -> str:
        head = {"alg": "RS256", "kid": "ours", **header}
        return jwt.encode(head, dict(said), key, algorithms=[head["alg"]])

    def asked_to_sign_in(self, address: str) -> dict[str, str]:
        """What the browser brings from us, if it is as it must be."""
        place, query = urlsplit(address), {name: one for name, (one,) in parse_qs(urlsplit(address).query).items()}
        assert f"{place.scheme}://{place.netloc}{place.path}" == f"{self.address}/auth"
        assert query.pop("redirect_uri") == f"{HERE}/lti/launch"
        assert {name: query.pop(name) for name in ("scope", "response_type", "response_mode", "prompt")} == {
            "scope": "openid", "response_type": "id_token", "response_mode": "form_post", "prompt": "none",
        }  # fmt: skip
        assert query["client_id"] == CLIENT
        assert query["login_hint"]
        assert len(query["state"]) > 40
        assert len(query["nonce"]) > 40
        return query

    # -- what it answers -----------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        parts = urlsplit(path)
        try:
            if (method, parts.path) == ("GET", "/keys"):
                return 200, KeySet([RSAKey.import_key(KEY.as_dict(private=False))]).as_dict(), {}
            if (method, parts.path) == ("POST", "/token"):
                return self.fails(path) or self._grant(parse_qs(body.decode(), strict_parsing=True))
            if method == "POST" and parts.path.endswith("/scores"):
                return self.fails(path) or self._take(path, headers, body)
            if (method, parts.path) == ("GET", "/members"):
                return self.fails(path) or self._members(parse_qs(parts.query), headers)
            if (method, parts.path) == ("POST", "/return"):
                return self._take_choice(parse_qs(body.decode(), strict_parsing=True))
            if (method, parts.path) == ("GET", "/.well-known/openid-configuration"):
                return 200, self._about(), {}
            if (method, parts.path) == ("POST", "/register"):
                return self._register(headers, json.loads(body))
            if (method, parts.path) == ("GET", "/course"):
                return 200, self._course().encode(), {"Content-Type": "text/html"}
            if (method, parts.path) == ("GET", "/auth"):
                return self._form(path)
        except (AssertionError, KeyError, ValueError) as error:
            self.refused.append(f"{path}: {type(error).__name__} {error}")
            return 400, {"error": "invalid_request"}, {}
        return 404, {}, {}

    def _about(self) -> dict[str, Any]:
        made = {
            "issuer": self.address, "authorization_endpoint": f"{self.address}/auth",
            "jwks_uri": f"{self.address}/keys", "token_endpoint": f"{self.address}/token",
            "registration_endpoint": f"{self.address}/register",
            "https://purl.imsglobal.org/spec/lti-platform-configuration": {"product_family_code": "moodle"},
            **self.registered,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not None}

    def _register(self, headers: Mapping[str, str], said: dict[str, Any]) -> Answer:
        assert headers["Authorization"] == "Bearer once"
        assert headers["Content-Type"] == "application/json"
        assert said["application_type"] == "web"
        assert said["response_types"] == ["id_token"]
        assert set(said["grant_types"]) == {"implicit", "client_credentials"}
        assert said["redirect_uris"] == [f"{HERE}/lti/launch"]
        assert said["initiate_login_uri"] == f"{HERE}/lti/login"
        assert said["jwks_uri"] == f"{HERE}/lti/keys"
        assert said["token_endpoint_auth_method"] == "private_key_jwt"
        assert set(said["scope"].split()) == {SCORE_SCOPE, MEMBERS_SCOPE}
        tool = said["https://purl.imsglobal.org/spec/lti-tool-configuration"]
        assert tool["target_link_uri"] == f"{HERE}/lti/launch"
        assert {each["type"] for each in tool["messages"]} == {"LtiResourceLinkRequest", "LtiDeepLinkingRequest"}
        given = {"https://purl.imsglobal.org/spec/lti-tool-configuration": {**tool, "deployment_id": DEPLOYMENT}}
        return 201, {**said, **given, "client_id": CLIENT}, {}

    def _course(self) -> str:
        """A course's page there, with a launch in a frame and one in a tab. A test says where they lead."""
        tool = self.claims[f"{CLAIM}target_link_uri"].partition("/courses")[0]
        hidden = {**self.login(target_link_uri=f"{tool}{self.opens}"), "login_hint": self.user}
        fields = "".join(f'<input type="hidden" name="{name}" value="{one}">' for name, one in hidden.items())
        forms = (
            f'<form method="post" action="{tool}/lti/login" target="{target}">{fields}'
            f"<button>In a {where}</button></form>"
            for where, target in (("frame", "tool"), ("tab", "_top"))
        )
        return f'<!doctype html><title>Course</title>{"".join(forms)}<iframe name="tool" title="Tool"></iframe>'

    def _form(self, path: str) -> Answer:
        """The page that sends the browser back, for a person to send."""
        query = {name: one for name, (one,) in parse_qs(urlsplit(path).query).items()}
        user, _, role = query["login_hint"].partition(" ")
        chooses = self.opens != "/lti/launch"
        said = self.choosing(query["nonce"]) if chooses else self.said(query["nonce"], user, role or "Learner")
        token = self.signed(said)
        page = (
            f'<form method="post" action="{html.escape(query["redirect_uri"])}"><input type="hidden" name="state" '
            f'value="{html.escape(query["state"])}"><input type="hidden" name="id_token" value="{token}">'
            "<button>Go on</button></form>"
        )
        return 200, page.encode(), {"Content-Type": "text/html"}

    def _grant(self, form: dict[str, list[str]]) -> Answer:
        assert form["grant_type"] == ["client_credentials"]
        assert form["client_assertion_type"] == ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]
        (assertion,) = form["client_assertion"]
        said = jwt.decode(assertion, KeySet.import_key_set(self.ours()), algorithms=["RS256"])  # type: ignore[arg-type]
        assert said.header["kid"]
        claims = said.claims
        assert (claims["iss"], claims["sub"], claims["aud"]) == (CLIENT, CLIENT, f"{self.address}/token")
        assert claims["iat"] <= time.time() < claims["exp"] < time.time() + 600
        assert claims["jti"] not in self.assertions
        self.assertions.add(claims["jti"])
        token = f"access-{len(self.granted)}"
        self.granted[token] = form["scope"][0]
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": form["scope"][0]}, {}

    def _allowed(self, headers: Mapping[str, str], scope: str) -> bool:
        kind, _, token = headers.get("Authorization", "").partition(" ")
        return kind == "Bearer" and scope in self.granted.get(token, "").split()

    def _take(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if not self._allowed(headers, SCORE_SCOPE):
            return 401, {}, {}
        assert headers["Content-Type"] == "application/vnd.ims.lis.v1.score+json"
        parts, score = urlsplit(path), json.loads(body)
        assert parts.query == "type=1"  # of the line item
        assert set(score) <= {
            "userId", "scoreGiven", "scoreMaximum", "timestamp", "activityProgress", "gradingProgress", "comment",
        }  # fmt: skip
        assert score["activityProgress"] in {"Initialized", "Started", "InProgress", "Submitted", "Completed"}
        assert score["gradingProgress"] in {"FullyGraded", "Pending", "PendingManual", "Failed", "NotReady"}
        if "scoreGiven" in score:
            assert score["scoreGiven"] >= 0
            assert score["scoreMaximum"] > 0
        moment = datetime.fromisoformat(score["timestamp"])
        assert moment.tzinfo is not None
        taken = self.scores.setdefault((parts.path.removesuffix("/scores"), score["userId"]), [])
        if taken and datetime.fromisoformat(taken[-1]["timestamp"]) >= moment:
            return 409, {}, {}
        taken.append(score)
        return 204, None, {}

    def _members(self, query: dict[str, list[str]], headers: Mapping[str, str]) -> Answer:
        if not self._allowed(headers, MEMBERS_SCOPE):
            return 401, {}, {}
        assert headers["Accept"] == "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
        number = int(query.get("page", ["0"])[0])
        more = {}
        if number + 1 < len(self.members):
            more["Link"] = f'<{self.address}/members?page={number + 1}>; rel="next"'
        page = self.members[number] if self.members else []
        return 200, {"id": f"{self.address}/members", "context": {"id": "c-1"}, "members": page}, more

    def _take_choice(self, form: dict[str, list[str]]) -> Answer:
        said = jwt.decode(form["JWT"][0], KeySet.import_key_set(self.ours()), algorithms=["RS256"]).claims  # type: ignore[arg-type]
        assert (said["iss"], said["aud"]) == (CLIENT, self.address)
        assert said["nonce"]
        assert said["exp"] > time.time() > said["iat"] - 1
        assert said[f"{CLAIM}deployment_id"] == DEPLOYMENT
        assert said[f"{CLAIM}message_type"] == "LtiDeepLinkingResponse"
        assert said[f"{CLAIM}version"] == "1.3.0"
        assert said[f"{DL}data"] == "of-the-platform"
        self.returned += said[f"{DL}content_items"]
        return 200, b"<!doctype html><title>Taken</title>taken", {"Content-Type": "text/html"}

    def last(self, user: str, item: str = "/items/1") -> dict[str, Any] | None:
        """The score that the platform shows of a user."""
        taken = self.scores.get((item, f"u-{user}"))
        return taken[-1] if taken else None


@contextmanager
def running_platform() -> Iterator[Platform]:
    platform = Platform()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            platform.asked.append(f"{self.command} {self.path}")
            status, found, headers = platform.answer(self.command, self.path, dict(self.headers), body)
            content = b"" if found is None else found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    platform.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield platform
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
