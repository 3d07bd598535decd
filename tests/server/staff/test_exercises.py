"""A course's own exercises in the portal: uploaded, proven by workers, published, assigned, graded."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from typing import Any

import pytest
from sqlalchemy import func, select

from kernels.exercise.catalogue import Entry, catalogue_entries
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Exercise, ExerciseFile, Role
from server.courses.service import find_assignment
from server.dispatching.dispatch import message_of, take
from server.exercises.stored import content_of
from server.exercises.upload import read_folder, read_zip, write_zip
from server.grading.models import Job, Step, StepState
from server.recording.record import record
from server.standings.models import Standing
from server.submissions.models import Submission
from tests.marks import first_of_each
from tests.server.commands.own_exercises import DEFINITION
from tests.server.course import AFTER_ANY_PAUSE, check_result
from tests.server.staff.proven import FILES, prove
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.messages import CPU_QUEUE

PAGE = "/staff/gpu/exercises"


def upload(client: BrowserClient, name: str = "mine", *, page: str = PAGE, **changed: bytes) -> Any:
    files = FILES | {key.replace("_", "."): value for key, value in changed.items()}
    return client.post_form(page, file=(io.BytesIO(write_zip(name, files)), "any.zip"))


def rows(portal: Portal) -> list[Exercise]:
    with portal.course.sessions.begin() as session:
        own = select(Exercise).where(Exercise.course_id.is_not(None)).order_by(Exercise.id)
        return list(session.scalars(own))


def published(portal: Portal, client: BrowserClient, starter: bytes = FILES["starter.cu"]) -> Exercise:
    upload(client, starter_cu=starter)
    client.post_form(f"{PAGE}/mine/check")
    prove(portal.course)
    row = rows(portal)[-1]
    answer = client.post_form(f"{PAGE}/mine/publish", version=row.version)
    assert answer.status_code == 303, answer.get_data(as_text=True)
    return rows(portal)[-1]


def test_an_exercise_goes_from_a_zip_file_to_a_graded_submission(portal: Portal, ina: BrowserClient) -> None:
    assert upload(ina).location.endswith("/staff/gpu/exercises/mine?notice=exercise-saved")
    (draft,) = rows(portal)
    assert (draft.course_id, draft.name, draft.number) == (portal.course.course, "mine", None)
    assert 'value="own:mine"' not in ina.page("/staff/gpu/assignments/new")
    ina.post_form(f"{PAGE}/mine/check")
    assert "data-live" in ina.page(f"{PAGE}/mine")
    prove(portal.course)
    page = ina.page(f"{PAGE}/mine")
    assert 'id="proven"' in page
    assert page.count("<code>solution.cu</code>") == 2, "one for each tile"
    ina.post_form(f"{PAGE}/mine/publish", version=draft.version)
    (row,) = rows(portal)
    assert (row.id, row.number) == (draft.id, 1)
    assert portal.course.actions("exercise.") == ["exercise.saved", "exercise.checked", "exercise.published"]
    assert 'value="own:mine"' in ina.page("/staff/gpu/assignments/new")
    setting = {"points": "10", "late_percent_per_day": "0", "min_interval_seconds": "0", "checks_per_hour": "10"}
    made = ina.post_form(
        "/staff/gpu/assignments", exercise="own:mine", counts="best", first_hint="edit", listed="yes", **setting
    )
    assert made.status_code == 303, made.get_data(as_text=True)
    ada = client_of(portal, "ada")
    page = ada.page("/courses/gpu/mine/")
    assert "Multiply." in page
    assert "races" not in page
    for file in ("wrong/races.cu", "right/other.cu", "wrong.toml", "solution.cu"):
        assert ada.get(f"/courses/gpu/mine/figures/{file}").status_code == 404
    ada.post_form("/courses/gpu/mine/submissions", source="__global__ void MatVec() {}", mode="rank")
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=9, cap=9, now=AFTER_ANY_PAUSE)
        step = session.scalars(select(Step).where(Step.state == StepState.SENT)).one()
        work = message_of(step, 20.0).check
        assert work is not None
        assert (work.exercise.name, work.exercise.definition) == ("mine", DEFINITION)
        result = check_result(session, step.job_id, Verdict.ACCEPTED)
    record(portal.course.sessions, result)
    assert "accepted" in ada.page("/courses/gpu/mine/")


@pytest.mark.parametrize(
    "case",
    first_of_each(
        [
            ("solution.cu", Verdict.DATA_RACE),
            ("starter.cu", Verdict.COMPILE_ERROR),
            ("starter.cu", Verdict.ACCEPTED),
            ("wrong/races.cu", Verdict.ACCEPTED),
            ("right/other.cu", Verdict.DATA_RACE),
        ],
        kind=lambda _: "",
        name=lambda entry: f"{entry[0]}-{entry[1].value}",
        reason="the short suite has one",
    ),
)
def test_a_draft_with_another_verdict_is_not_published(
    portal: Portal, ina: BrowserClient, case: tuple[str, Verdict]
) -> None:
    file, verdict = case
    upload(ina)
    version = rows(portal)[0].version
    assert ina.post_form(f"{PAGE}/mine/publish", version=version).status_code == 409, "not checked at all"
    ina.post_form(f"{PAGE}/mine/check")
    prove(portal.course, {file: verdict})
    assert 'id="problems"' in ina.page(f"{PAGE}/mine")
    assert ina.post_form(f"{PAGE}/mine/publish", version=version).status_code == 409
    ina.post_form(f"{PAGE}/mine/check")
    assert 'id="problems"' not in ina.page(f"{PAGE}/mine"), "a new check replaces the earlier one"
    prove(portal.course)
    assert ina.post_form(f"{PAGE}/mine/publish", version="0" * 64).status_code == 409, "another draft was shown"
    assert ina.post_form(f"{PAGE}/mine/publish", version=version).status_code == 303


def test_a_new_draft_replaces_the_earlier_one_with_its_proof(portal: Portal, ina: BrowserClient) -> None:
    upload(ina)
    ina.post_form(f"{PAGE}/mine/check")
    upload(ina, starter_cu=b"// Another.\n")
    (draft,) = rows(portal)
    with portal.course.sessions.begin() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 0
        assert session.scalars(select(ExerciseFile.exercise_id).distinct()).all().count(draft.id) == 1
    assert 'id="proof-meter"' not in ina.page(f"{PAGE}/mine")
    assert ina.post_form(f"{PAGE}/mine/discard").location.startswith(f"{PAGE}?")
    assert rows(portal) == []


def test_a_published_version_never_changes(portal: Portal, ina: BrowserClient) -> None:
    first = published(portal, ina)
    upload(ina)
    assert [row.id for row in rows(portal)] == [first.id], "the same files are the same version"
    second = published(portal, ina, b"// Another.\n")
    assert [(row.id, row.number) for row in rows(portal)] == [(first.id, 1), (second.id, 2)]
    for number, starter in ((1, FILES["starter.cu"]), (2, b"// Another.\n")):
        answer = ina.get(f"{PAGE}/mine/files.zip?version={number}")
        assert read_zip(answer.data).files == {**FILES, "starter.cu": starter}
    ina.post_form(f"{PAGE}/mine/discard")
    assert len(rows(portal)) == 2


def test_a_refused_upload_names_the_file_and_saves_nothing(portal: Portal, ina: BrowserClient) -> None:
    answer = upload(ina, exercise_toml=FILES["exercise.toml"].replace(b"metric", b"metrics"))
    assert answer.status_code == 422
    assert "mine/exercise.toml: metrics: " in answer.get_data(as_text=True)
    assert ina.post_form(PAGE).status_code == 422
    large = ina.post(PAGE, data=bytes(2**20 + 1), content_type="multipart/form-data; boundary=x")
    assert large.status_code == 413
    assert rows(portal) == []


def test_a_folder_is_uploaded_with_its_paths(portal: Portal, ina: BrowserClient) -> None:
    parts = [(io.BytesIO(content), f"mine/{name}") for name, content in FILES.items()]
    assert ina.post_form(PAGE, folder=parts).status_code == 303
    upload(ina)
    assert len(rows(portal)) == 1, "a folder and its zip file are the same version"


def test_two_courses_keep_their_own_exercise_of_the_same_name_and_text(portal: Portal, ina: BrowserClient) -> None:
    with portal.course.sessions.begin() as session:
        session.add(Course(slug="other", title="Other", created_at=AFTER_ANY_PAUSE))
    root = client_of(portal, "root", None, admin=True)
    for client, page in ((ina, PAGE), (root, "/staff/other/exercises")):
        upload(client, "tiled", page=page)
    first, second = rows(portal)
    assert first.version == second.version
    assert first.course_id != second.course_id
    upload(root, "tiled", page="/staff/other/exercises", starter_cu=b"// Another.\n")
    assert rows(portal)[0].id == first.id
    assert client_of(portal, "ina").get("/staff/other/exercises/tiled").status_code == 404
    with portal.course.sessions.begin() as session:
        shipped = find_assignment(session, "gpu/tiled")
        assert shipped is not None
        assert shipped.exercise.course_id is None
        assert session.scalar(select(func.count()).select_from(Assignment)) == 1


def assigned(portal: Portal, ina: BrowserClient) -> None:
    """Version 1 is assigned, and ada and ben submitted: accepted, and a race."""
    published(portal, ina)
    setting = {"points": "10", "late_percent_per_day": "0", "min_interval_seconds": "0", "checks_per_hour": "10"}
    ina.post_form(
        "/staff/gpu/assignments", exercise="own:mine", counts="best", first_hint="edit", listed="yes", **setting
    )
    for name, verdict in (("ada", Verdict.ACCEPTED), ("ben", Verdict.DATA_RACE)):
        submitted(portal, name)
        judged(portal, verdict)


def submitted(portal: Portal, name: str) -> None:
    client = client_of(portal, name)
    source = f"// {name}\n__global__ void MatVec() {{}}"
    assert client.post_form("/courses/gpu/mine/submissions", source=source, mode="rank").status_code == 303


def judged(portal: Portal, *verdicts: Verdict) -> None:
    """Grade the waiting steps, in their order."""
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=AFTER_ANY_PAUSE)
        sent = session.scalars(select(Step).where(Step.state == StepState.SENT).order_by(Step.id)).all()
        results = [check_result(session, step.job_id, one) for step, one in zip(sent, verdicts, strict=True)]
    for result in results:
        record(portal.course.sessions, result)


def own_assignment(portal: Portal) -> tuple[int | None, dict[str, str | None]]:
    """The version of the assignment, and each student's last verdict."""
    with portal.course.sessions.begin() as session:
        found = find_assignment(session, "gpu/mine")
        assert found is not None
        query = select(Person.name, Submission.verdict).join(Submission.person).order_by(Submission.id)
        return found.exercise.number, {name: verdict and verdict.value for name, verdict in session.execute(query)}


HARDER = DEFINITION.replace('Width = "TILE_WIDTH + 1"', 'Width = "TILE_WIDTH + 2"').encode()
STAGED = "/staff/gpu/regrades/staged/mine"


def test_a_new_version_shows_what_it_changes_before_it_replaces_the_old(portal: Portal, ina: BrowserClient) -> None:
    assigned(portal, ina)
    upload(ina, exercise_toml=HARDER)
    ina.post_form(f"{PAGE}/mine/check")
    prove(portal.course)
    ina.post_form(f"{PAGE}/mine/publish", version=rows(portal)[-1].version)
    before = own_assignment(portal)
    assert before == (1, {"ada": "accepted", "ben": "data_race"})
    assert 'data-newer="2"' in ina.page("/staff/gpu/assignments/mine")
    answer = ina.post_form(f"{STAGED}/version", version="2")
    assert answer.location.startswith(STAGED)
    judged(portal, Verdict.WRONG_ANSWER, Verdict.ACCEPTED)
    assert own_assignment(portal) == before, "nothing counts before it is applied"
    page = ina.page(STAGED)
    assert 'data-version="2"' in page
    assert "2 changed verdicts, 2 changed grades, 2 changed ranks" in page
    submitted(portal, "cid")
    asa = client_of(portal, "asa", Role.ASSISTANT)
    shown = page.partition('name="shown" value="')[2].partition('"')[0]
    assert asa.post_form(f"{STAGED}/apply", shown=shown).status_code == 403
    assert ina.post_form(f"{STAGED}/apply", shown=shown).status_code == 303
    assert own_assignment(portal) == (2, {"ada": "wrong_answer", "ben": "accepted", "cid": None})
    judged(portal, Verdict.ACCEPTED)
    with portal.course.sessions.begin() as session:
        lines = session.scalars(select(Standing.person_id)).all()
        last = session.scalars(select(Job).order_by(Job.id.desc())).first()
        assert last is not None
        assert last.exercise.number == 2, "what waited meanwhile is graded by the new version"
    assert sorted(lines) == sorted(portal.course.person(name) for name in ("ben", "cid"))


@pytest.mark.long("the short suite drops a staged regrade, and applies a version")
def test_a_dropped_version_leaves_everything(portal: Portal, ina: BrowserClient) -> None:
    assigned(portal, ina)
    upload(ina, exercise_toml=HARDER)
    ina.post_form(f"{PAGE}/mine/check")
    prove(portal.course)
    ina.post_form(f"{PAGE}/mine/publish", version=rows(portal)[-1].version)
    before = own_assignment(portal)
    for wrong in ("1", "7"):
        assert ina.post_form(f"{STAGED}/version", version=wrong).status_code == 409
    ina.post_form(f"{STAGED}/version", version="2")
    assert ina.post_form(f"{STAGED}/version", version="2").status_code == 409
    assert ina.post_form(f"{STAGED}/drop").status_code == 303
    assert own_assignment(portal) == before


def test_a_version_with_another_handout_is_used_at_once(portal: Portal, ina: BrowserClient) -> None:
    assigned(portal, ina)
    published(portal, ina, b"// Another.\n")
    answer = ina.post_form(f"{STAGED}/version", version="2")
    assert answer.location.startswith("/staff/gpu/assignments/mine")
    assert own_assignment(portal) == (2, {"ada": "accepted", "ben": "data_race"})


def test_another_judge_keeps_the_number_of_the_same_files(
    portal: Portal, ina: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assigned(portal, ina)
    published(portal, ina, b"// Another.\n")
    monkeypatch.setattr("kernels.exercise.schema.JUDGE_VERSION", 99)
    page = ina.page("/staff/gpu/assignments/mine/update")
    ina.post_form("/staff/gpu/assignments/mine/update", now=page.partition('name="now" value="')[2][:64])
    assert own_assignment(portal)[0] == 1
    assert [row.number for row in rows(portal)] == [1, 2, 1]
    page = ina.page(f"{PAGE}/mine")
    assert page.count('<th scope="row">Version') == 2


def typed(client: BrowserClient, replaces: str, preview: bool, fields: dict[str, Any] | None = None) -> Any:
    """Send the edit form, with these texts instead of the present ones."""
    texts = {path: text.decode().replace("\n", "\r\n") for path, text in FILES.items() if path != "rows.svg"}
    buttons = {"preview": "yes"} if preview else {}
    return client.post_form(f"{PAGE}/mine/edit", **(texts | {"replaces": replaces} | buttons | (fields or {})))


def test_an_own_exercise_starts_from_one_of_the_catalogue(portal: Portal, ina: BrowserClient) -> None:
    catalogue = "/staff/gpu/catalogue"
    assert "/staff/gpu/assignments/new?exercise=histogram" in ina.page(catalogue)
    assert re.search(r'value="histogram" required\s+checked', ina.page("/staff/gpu/assignments/new?exercise=histogram"))
    page = ina.page(f"{catalogue}/bank-conflicts")
    assert "figures/bank-conflicts.svg" in page
    assert 'id="goals"' in page
    assert ina.get(f"{catalogue}/bank-conflicts/figures/bank-conflicts.svg").status_code == 200
    for none in ("none", "bank-conflicts/figures/solution.cu", "%00", "..%2ftiled"):
        assert ina.get(f"{catalogue}/{none}").status_code == 404, none
    assert ina.post_form(f"{catalogue}/histogram/start", name="A b").status_code == 422
    assert ina.post_form(f"{catalogue}/histogram/start", name="mine").location.startswith("/staff/gpu/exercises/mine?")
    (draft,) = rows(portal)
    assert (draft.name, draft.number) == ("mine", None)
    with portal.course.sessions.begin() as session:
        files = session.scalars(select(ExerciseFile.name).where(ExerciseFile.exercise_id == draft.id)).all()
    assert {"wrong.toml", "solution.cu", "handout.md"} <= set(files)
    assert ina.post_form(f"{catalogue}/histogram/start", name="mine").status_code == 422
    assert client_of(portal, "tom", Role.ASSISTANT).post_form(f"{catalogue}/histogram/start").status_code == 403
    assert portal.course.actions("exercise.") == ["exercise.saved"]


@pytest.mark.parametrize("entry", catalogue_entries().values(), ids=lambda entry: entry.exercise.name)
def test_each_exercise_of_the_catalogue_can_become_a_draft(entry: Entry) -> None:
    root = entry.exercise.root
    assert entry.what, "say in catalogue.toml what students write"
    assert content_of("mine", read_folder(root).files).exercise.title == entry.exercise.title


def test_files_are_edited_in_the_browser(portal: Portal, ina: BrowserClient) -> None:
    first = published(portal, ina)
    assert "Multiply." in ina.page(f"{PAGE}/mine/edit")
    assert typed(ina, first.version, False).location.endswith("exercise-is-published"), "unchanged texts are unchanged"
    shown = typed(ina, first.version, True, {"handout.md": "# A\n\n![Rows](rows.svg) **bold**\n"})
    page = shown.get_data(as_text=True)
    assert "<strong>bold</strong>" in page
    assert "/report.js" in page, "its phases can be stepped through"
    assert f'src="{PAGE}/mine/figures/rows.svg"' in page
    figure = ina.get(f"{PAGE}/mine/figures/rows.svg")
    assert (figure.data, figure.headers["Content-Disposition"]) == (FILES["rows.svg"], "attachment; filename=rows.svg")
    assert len(rows(portal)) == 1, "a preview saves nothing"
    more = [(io.BytesIO(b"<svg/>"), "more.svg"), (io.BytesIO(b"// slow\n"), "slow.cu")]
    table = FILES["wrong.toml"].decode().replace("[races]", "[slow]")
    right = [(io.BytesIO(b"// fast\n"), "fast.cu")]
    removed = ["wrong/races.cu", "right/other.cu", "rows.svg"]
    changed = {"wrong.toml": table, "more": more, "right": right, "remove": removed}
    answer = typed(ina, first.version, False, changed)
    assert answer.status_code == 303, answer.get_data(as_text=True)
    draft = rows(portal)[-1]
    assert draft.number is None
    files = read_zip(ina.get(f"{PAGE}/mine/files.zip").data).files
    assert sorted(files.keys() ^ FILES.keys()) == [
        "more.svg", "right/fast.cu", "right/other.cu", "rows.svg", "wrong/races.cu", "wrong/slow.cu",
    ]  # fmt: skip
    stale = typed(ina, first.version, False, {"handout.md": "# Another\n"})
    assert stale.status_code == 409
    assert "# Another" in stale.get_data(as_text=True), "the text isn't lost"
    assert rows(portal)[-1].id == draft.id


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        (
            "exercise.toml",
            FILES["exercise.toml"].decode().replace("metric", "metrics"),
            'text-1-error">mine/exercise.toml: metrics: ',
        ),
        ("handout.md", "# A\n\n```phases\nrows\n```\n", 'text-2-error">mine/handout.md: line 4: '),
    ],
)
def test_a_mistake_in_an_edited_file_is_shown_at_its_field(
    portal: Portal, ina: BrowserClient, preview: bool, file: str, text: str, error: str
) -> None:
    upload(ina)
    before = rows(portal)[0]
    answer = typed(ina, before.version, preview, {file: text})
    assert answer.status_code == 422
    page = answer.get_data(as_text=True)
    assert error in page
    marks = re.findall(r'name="([^"]+)"[^>]* data-marks="([^"]*)"', page)
    lines = {path: json.loads(unescape(found))[0]["line"] for path, found in marks if found != "[]"}
    wanted = next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(("metrics", "rows")))
    assert lines == {file: wanted}
    assert [row.id for row in rows(portal)] == [before.id]
