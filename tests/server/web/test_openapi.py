"""The API's description: valid, made of the code, and true of what is answered."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from flask import Blueprint, Flask
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from kernels.verdict import Verdict
from server.courses.models import Role
from server.fields import INTERNAL, JsonName, Range, Text, answer_json
from server.http.operation import operation
from server.settings import Settings
from server.web.app import create_app
from server.web.openapi import Schemas, Undescribed, described, field_texts, summary
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import NOBODY, Portal

EVERY_ROUTE = {"414", "431", "500", "503"}
WITH_A_TOKEN = {"401", "403", "429"}
HERE = "/api/v1/courses/gpu"
COURSE = "/api/v1/courses/{course}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    made = create_app(Settings(f"sqlite:///{tmp_path_factory.mktemp('api')}/none.db", NOBODY))
    yield made
    made.extensions["tilelab"].engine.dispose()


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return described(app)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]


def test_it_is_a_valid_document_of_openapi_3_1(document: dict[str, Any]):
    validate(document)
    assert document["openapi"].startswith("3.1")


def test_every_route_of_the_api_is_in_it(app: Flask, document: dict[str, Any]):
    routes = {rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")}
    written = {re.sub(r"<\w+\([^()]*\):", "<", rule) for rule in routes}
    assert {path.replace("{", "<").replace("}", ">") for path in document["paths"]} == written
    assert len(written) == len(routes)
    names = [one["operationId"] for _, _, one in operations(document)]
    assert len(set(names)) == len(names)


def test_every_route_stands_on_the_page_about_the_api(document: dict[str, Any]):
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    listed = {re.sub(r"\b[A-Z]+\b", "{}", path) for path in re.findall(r"`(?:GET|POST) (/api/\S+)`", page)}
    assert {re.sub(r"{\w+}", "{}", path) for path in document["paths"]} == listed


def test_every_refusal_is_a_problem_that_says_when(document: dict[str, Any]):
    for path, method, one in operations(document):
        refused = {status: answer for status, answer in one["responses"].items() if status >= "400"}
        wanted = EVERY_ROUTE | (WITH_A_TOKEN if one["security"] else set())
        assert wanted <= refused.keys(), (path, method)
        for answer in refused.values():
            assert list(answer["content"]) == ["application/problem+json"]
            assert answer["description"].endswith(".")
        assert one["summary"].endswith(".")
        assert not one["security"] or "Retry-After" in refused["429"]["headers"]


def test_only_the_description_and_signing_in_ask_for_no_token(document: dict[str, Any]):
    free = {path for path, _, one in operations(document) if not one["security"]}
    assert free == {"/api/v1/openapi.json", "/api/v1/login", "/api/v1/login/token"}


def test_fields_come_with_what_their_class_says_of_them(document: dict[str, Any]):
    found = document["components"]["schemas"]["Submission"]["properties"]
    assert found["verdict"]["description"] == "null before the first verdict"
    assert found["assignment"]["description"] == "COURSE/ASSIGNMENT"
    assert "null if unknown" in document["components"]["schemas"]["Wait"]["properties"]["seconds"]["description"]


def test_cheats_03_and_38_no_request_can_hold_a_result(document: dict[str, Any]):
    """Results come from workers alone. The only such field of a body chooses the submissions of a regrade."""
    results = {"verdict", "report", "measurement", "findings", "checks", "gflops", "gbps", "ms_median", "rank"}
    bodies = {
        f"{method} {path}": field_names(one["requestBody"], document)
        for path, method, one in operations(document)
        if "requestBody" in one
    }
    assert len(bodies) >= 5
    found = {path: names & results for path, names in bodies.items() if names & results}
    assert found == {f"post {COURSE}/regrades": {"verdict"}}


def field_names(schema: Any, document: dict[str, Any]) -> set[str]:
    """The names of all fields below a schema."""
    if isinstance(schema, list):
        return set().union(*(field_names(each, document) for each in schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", ()))
    if "$ref" in schema:
        found |= field_names(document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], document)
    return found.union(*(field_names(each, document) for each in schema.values()))


def test_a_route_that_says_nothing_of_itself_is_a_mistake():
    app = Flask("bare")
    bare = Blueprint("bare", __name__)
    bare.get("/bare")(lambda: "")
    app.register_blueprint(bare, url_prefix="/api/v1")
    with pytest.raises(Undescribed, match="/api/v1/bare has no description"):
        described(app)
    said = operation(str)(lambda: "")
    app.view_functions[next(iter(app.view_functions.keys() - {"static"}))] = said
    assert described(app)["paths"]["/api/v1/bare"]["get"]["operationId"] == "bare_<lambda>"


@dataclasses.dataclass
class Thing:
    """One. number: how many; word: None for no word, True for any."""

    number: Annotated[int, Range(1, 3)]
    word: Annotated[str, Text("[a-z]+")] | None
    pair: tuple[int, str]
    kind: Verdict | None
    inner: tuple[Thing, ...] = ()


def test_schemas_say_what_annotations_say():
    schemas = Schemas()
    assert schemas.of(Thing) == {"$ref": "#/components/schemas/Thing"}
    schema = {"$defs": schemas.components, **schemas.components["Thing"]}
    assert schema["properties"]["word"] == {
        "type": ["string", "null"], "pattern": "^(?:[a-z]+)$", "description": "null for no word, true for any.",
    }  # fmt: skip
    assert schema["properties"]["number"]["maximum"] == 3
    assert summary(Thing) == "One."
    assert field_texts(Thing)["number"] == "how many"
    validator = Draft202012Validator({**schema["properties"]["pair"]})
    assert validator.is_valid([1, "a"])
    assert not validator.is_valid(["a", 1])
    with pytest.raises(Undescribed):
        schemas.of(set)
    with pytest.raises(Undescribed, match="two classes are called Thing"):
        schemas.of(dataclasses.make_dataclass("Thing", ["x"]))


@dataclasses.dataclass
class NamedThing(Thing):
    """A thing with a name. at: since when."""

    at: datetime | None = None
    public_name: Annotated[str, JsonName("name")] = ""
    row: Annotated[int, INTERNAL] = 0


def test_an_answer_has_the_fields_of_its_schema():
    schemas = Schemas()
    schemas.of(NamedThing)
    properties = schemas.components["NamedThing"]["properties"]
    thing = NamedThing(1, None, (2, "b"), Verdict.ACCEPTED, at=datetime(2026, 3, 1, tzinfo=UTC), public_name="ada")
    answer = json.loads(json.dumps(thing, default=answer_json))
    assert list(answer) == list(properties) == ["number", "word", "pair", "kind", "inner", "at", "name"]
    assert (answer["at"], answer["name"]) == ("2026-03-01T00:00:00+00:00", "ada")
    assert (properties["at"]["description"], properties["number"]["description"]) == ("since when.", "how many")


def fits(document: dict[str, Any], path: str, answer: Any, method: str = "get") -> Any:
    """The answer, which has to be one that the document foresees."""
    said = document["paths"][path][method]["responses"][str(answer.status_code)]
    (kind,) = said["content"]
    assert answer.mimetype == kind
    schema = {**said["content"][kind]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.get_json(force=True))
    return answer


def test_results_have_the_schema_that_is_described(portal: Portal, document: dict[str, Any]):
    one = "/api/v1/submissions/{public_id}"
    url = fits(document, "/api/v1/submissions", portal.post("ada"), "post").get_json()["url"]
    fits(document, one, portal.get("ada", url))
    grade(portal.course)
    assert fits(document, one, portal.get("ada", url)).get_json()["result"]["seed"] == ""
    fits(document, one, portal.get("ada", "/api/v1/submissions/none"))
    told = portal.get("ada", f"{url}/events").get_data(as_text=True).split("data: ")
    schemas = {"$ref": "#/components/schemas/Progress", "components": document["components"]}
    Draft202012Validator(schemas).validate(json.loads(told[1].split("\n")[0]))
    fits(document, f"{one}/cancel", portal.client.post(f"{url}/cancel"), "post")
    fits(document, "/api/v1/me", portal.get("ada", "/api/v1/me"))
    fits(document, "/api/v1/assignments", portal.get("ada", "/api/v1/assignments"))
    fits(document, "/api/v1/submissions", portal.get("ada", "/api/v1/submissions"))
    fits(document, "/api/v1/submissions", portal.get("ada", "/api/v1/submissions?limit=0"))
    board = "/api/v1/leaderboards/{course}/{assignment}/{device_class}"
    fits(document, board, portal.get("ada", "/api/v1/leaderboards/gpu/tiled/h200"))
    one_of = f"{HERE}/students/{portal.course.person('ada')}"
    portal.token("ina", Role.INSTRUCTOR)
    for path, asked in (
        (f"{COURSE}/roster", f"{HERE}/roster"), (f"{COURSE}/grades", f"{HERE}/grades"),
        (f"{COURSE}/assignments/{{assignment}}/progress", f"{HERE}/assignments/tiled/progress"),
        (f"{COURSE}/submissions", f"{HERE}/submissions"), (f"{COURSE}/students/{{person}}", one_of),
        (f"{COURSE}/students/{{person}}/submissions", f"{one_of}/submissions"),
    ):  # fmt: skip
        assert fits(document, path, portal.get("ina", asked)).status_code == 200
        assert fits(document, path, portal.get("ada", asked)).status_code == 403
    fits(document, "/api/v1/openapi.json", portal.client.get("/api/v1/openapi.json"))
