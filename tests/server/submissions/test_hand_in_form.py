"""Handing in by the form of an assignment's page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from io import BytesIO

import pytest
from sqlalchemy import select

from kernels.verdict import Finding, Verdict
from server.courses.models import SOURCE_BYTES, Role
from server.grading.models import Job, JobState, Result
from server.grading.reports import pack
from server.submissions.refusals import Closed, NoAttemptsLeft, TooOften
from server.submissions.verdicts import update_judged_jobs
from tests.server.course import report_for
from tests.server.databases import ON_SQLITE
from tests.server.submissions.course_pages import DAY, FORM, KERNEL, PAGE, end, handed_in, now, typed, words
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of


def key_of(page: str) -> str:
    found = re.search(r'name="key" value="(\w+)"', page)
    assert found is not None
    return found[1]


def test_a_form_sent_twice_is_one_submission_and_one_changed_is_another(portal: Portal, ada: BrowserClient):
    key = key_of(ada.page(PAGE))
    first = ada.post_form(FORM, source=KERNEL, mode="rank", key=key)
    again = ada.post_form(FORM, source=KERNEL, mode="rank", key=key)
    assert first.headers["Location"] == again.headers["Location"]
    assert len(handed_in(portal)) == 1
    changed = ada.post_form(FORM, source=f"{KERNEL}//", mode="rank", key=key)
    checked = ada.post_form(FORM, source=KERNEL, mode="check", key=key)
    assert len({first.headers["Location"], changed.headers["Location"], checked.headers["Location"]}) == 3
    assert key_of(ada.page(PAGE)) != key


def test_a_form_without_a_key_of_ours_is_handed_in_all_the_same(portal: Portal, ada: BrowserClient):
    for key in ("", "x y", "\0", "ä" * 300):
        assert ada.post_form(FORM, source=KERNEL, mode="rank", key=key).status_code == 303
    assert len(handed_in(portal)) == 4


@pytest.mark.one_in(3, "a third")
@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"source": " \r\n"}, "empty", ""),
        ({}, "empty", ""),
        ({"source": "x" * (SOURCE_BYTES + 1)}, "too_large", "65,537"),
        ({"source": KERNEL, "file": (b"\xff\xfe_", "C:\\mine.cu")}, "not_text", "UTF-8 text (line 1)"),
        ({"source": KERNEL, "file": (b"a\n\n\xe4", "mine.cu")}, "not_text", "(line 3)"),
        ({"source": KERNEL, "file": (b"", "mine.cu")}, "empty", "mine.cu"),
        ({"source": KERNEL, "file": (b"a\0b", "mine.cu")}, "not_source", "mine.cu"),
        ({"source": KERNEL, "file": (b"x" * 400_000, "mine.cu")}, "too_large", "400,000"),
        ({"source": KERNEL, "file": (b"\xff", "<script>.cu")}, "not_text", "<script>.cu"),
    ],
    ids=["blank", "nothing", "large", "utf-16", "latin-1", "empty file", "binary", "large file", "odd name"],
)  # fmt: skip
@ON_SQLITE
def test_what_cannot_be_a_source_comes_back_with_what_was_typed(portal: Portal, ada, fields, code, said):
    given = dict(fields)
    if "file" in given:
        given["file"] = (BytesIO(given["file"][0]), given["file"][1])
    answer = ada.post_form(FORM, mode="rank", **given)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert f'data-mistake="{code}"' in page
    assert said in words(page)
    assert typed(page) == given.get("source", "").replace("\r\n", "\n")
    assert "data-draft-ignored" in page
    assert 'aria-invalid="true"' in page
    assert "<script>.cu" not in page
    assert handed_in(portal) == []


@ON_SQLITE
def test_a_text_that_the_compiler_cannot_read_is_repaired_by_one_press(portal: Portal, ada: BrowserClient):
    text = f"```\n{KERNEL}int\u00a0a;\n```\n"
    refused = ada.post_form(FORM, source=text, mode="rank")
    page = refused.get_data(as_text=True)
    assert (refused.status_code, typed(page)) == (422, text)
    assert 'data-mistake="repairable"' in page
    repaired = re.search(r'<template id="source-repaired" data-changes="(.*?)">(.*?)</template>', page, re.DOTALL)
    assert repaired
    answer = ada.post_form(FORM, source=text, repair="source", key=key_of(page))
    page = answer.get_data(as_text=True)
    assert (answer.status_code, handed_in(portal)) == (200, [])
    assert typed(page) == unescape(repaired[2]) == f"{KERNEL}int a;\n"
    assert 'data-repaired="2"' in page
    assert unescape(repaired[1]) == " ".join(map(unescape, re.findall(r"<li>([^<]*: (?:removed|replaced)[^<]*)", page)))
    again = ada.post_form(FORM, source=typed(page), repair="source")
    assert 'data-repaired="0"' in again.get_data(as_text=True)
    assert ada.post_form(FORM, source=typed(page), mode="rank", key=key_of(page)).status_code == 303
    assert len(handed_in(portal)) == 1


@ON_SQLITE
def test_an_unreadable_file_comes_back_in_the_editor_and_utf16_is_read(portal: Portal, ada: BrowserClient):
    odd = BytesIO(f"\ufeff{KERNEL}int\u00a0a;\r\n".encode("utf-16-le"))
    page = ada.post_form(FORM, source="x", file=(odd, "mine.cu"), mode="rank").get_data(as_text=True)
    assert 'data-mistake="repairable"' in page
    assert typed(page) == f"{KERNEL}int\u00a0a;\n"
    plain = BytesIO(KERNEL.encode("utf-16"))
    assert ada.post_form(FORM, file=(plain, "mine.cu"), mode="rank").status_code == 303
    assert [text for _, text in handed_in(portal)] == [KERNEL]


def test_a_request_that_is_larger_than_anything_is_refused_in_words(portal: Portal, ada: BrowserClient):
    answer = ada.post(FORM, data=b"x" * 3_000_000, content_type="multipart/form-data; boundary=b")
    assert answer.status_code == 413
    assert "64 KiB" in words(answer.get_data(as_text=True))


def test_text_comes_back_letter_by_letter(portal: Portal, ada: BrowserClient):
    text = "\n\n</textarea><b>&amp; \u202e x\n\t" + "y" * SOURCE_BYTES
    page = ada.post_form(FORM, source=text, mode="rank").get_data(as_text=True)
    assert typed(page) == text
    assert "</textarea><b>" not in page


@pytest.mark.parametrize(
    ("values", "status", "refusal"),
    [
        ({"attempts": 1}, 422, NoAttemptsLeft),
        ({"min_interval_seconds": 600}, 429, TooOften),
        ({"closes_at": "past"}, 422, Closed),
    ],
    ids=["attempts", "interval", "closed"],
)
def test_a_limit_is_told_with_what_was_typed(portal: Portal, ada: BrowserClient, values, status, refusal):
    ada.post_form(FORM, source=KERNEL, mode="rank")
    portal.course.change(**{name: now() - DAY if value == "past" else value for name, value in values.items()})
    answer = ada.post_form(FORM, source="// mine\n", mode="rank")
    page = answer.get_data(as_text=True)
    assert answer.status_code == status
    assert f'data-refusal="{refusal.code}"' in page
    assert ("Retry-After" in answer.headers) == (status == 429)
    assert typed(page) == "// mine\n"
    assert '<a href="#source">editor</a>' in page
    if "closes_at" in values:
        assert "<form" not in page.partition("<main")[2], "it can only be copied"
    else:
        told = re.search(r'data-refusal="\w+"[^>]*>.*?<p>(.*?) Your text', page, re.DOTALL)
        assert told
        assert page.count(told[1]) == 1, "not at the button, too"
    assert len(handed_in(portal)) == 1


def test_checks_that_are_used_up_leave_handing_in(portal: Portal, ada: BrowserClient):
    portal.course.change(checks_per_hour=1)
    ada.post_form(FORM, source=KERNEL, mode="check")
    answer = ada.post_form(FORM, source=KERNEL, mode="check")
    assert answer.status_code == 429
    assert 3500 < int(answer.headers["Retry-After"]) <= 3600
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def test_what_was_handed_in_stands_in_the_form_the_next_time(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="// first\n", mode="rank")
    first = end(portal, Verdict.WRONG_ANSWER)
    ada.post_form(FORM, source="// second\n", mode="rank")
    assert typed(ada.page(PAGE)) == "// second\n"
    page = ada.page(f"{PAGE}?from={first}")
    assert typed(page) == "// first\n"
    # a draft may take the text's place, and then a sentence about the text would be wrong
    assert "editor" not in words(page.partition('class="before"')[2].partition("<form")[0])
    assert "wrong answer" in words(page)
    assert f'href="/submissions/{first}"' in page
    assert "data-draft-offered" in page
    assert "data-draft-offered" not in ada.page(PAGE)


def test_the_page_of_what_was_sent_ends_the_draft_of_its_form_for_who_sent_it(portal: Portal, ada: BrowserClient):
    page = ada.page(PAGE)
    key = key_of(page)
    assert f'data-draft-form="{key}"' in page
    address = ada.post_form(FORM, source=KERNEL, mode="check", key=key).headers["Location"]
    assert f'data-handed-in="{key}"' in ada.page(address)
    assert "data-handed-in" not in client_of(portal, "teacher", Role.INSTRUCTOR).page(address)
    other = portal.post("ada", key="a-key-of-a-program").get_json()["id"]
    assert "data-handed-in" not in ada.page(f"/submissions/{other}")


def test_nobody_takes_up_what_somebody_else_handed_in(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="// secret\n", mode="rank")
    number = end(portal, Verdict.WRONG_ANSWER)
    for client in (client_of(portal, "bob"), client_of(portal, "teacher", Role.INSTRUCTOR)):
        assert client.get(f"{PAGE}?from={number}").status_code == 404
        assert "secret" not in client.page(PAGE)
    for name in ("", "nope", "%00", "a" * 5000):
        assert ada.get(f"{PAGE}?from={name}").status_code in {200, 404}


def test_findings_of_the_last_one_are_marks_on_its_lines(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="int a;\nint <b>;\nint c;\n", mode="check")
    race = Finding(Verdict.DATA_RACE, "Reads what 'thread' 3 <i> writes.", line=2, other_line=1)
    nowhere = Finding(Verdict.WRONG_ANSWER, "P[3] is 5, not 7.")
    with portal.course.sessions.begin() as session:
        job = session.scalars(select(Job)).one()
        job.state, job.verdict, job.ended_at = JobState.DONE, Verdict.DATA_RACE, now()
        update_judged_jobs(session, [job])
        report = pack(report_for(job, Verdict.DATA_RACE, findings=(race, nowhere)))
        session.add(Result(job_id=job.id, verdict=Verdict.DATA_RACE, device_class="", report=report, recorded_at=now()))
    page = ada.page(PAGE)
    found = re.search(r'data-marks="([^"]*)"', page)
    assert found is not None
    marks = json.loads(unescape(found[1]))
    assert [(mark["line"], mark["severity"]) for mark in marks] == [(1, "error"), (2, "error")]
    assert marks[1]["message"] == race.message
    assert {mark["kind"] for mark in marks} == {race.headline}
    assert race.headline.endswith("between lines 1 and 2")
    assert re.search(rf'href="/submissions/[0-9a-f]{{16}}#L2" data-editor-line="2">{race.headline}</a>', page)
    assert race.message in words(page)
    assert f"{nowhere.headline}: {nowhere.message}" in words(page)
    assert "Your check of" in page
    ada.post_form(FORM, source="int a;\n", mode="rank")
    assert "Your check of" not in ada.page(PAGE)


@ON_SQLITE
def test_while_the_disk_is_nearly_full_the_form_comes_back_with_a_sentence(portal: Portal, ada: BrowserClient):
    at = portal.app.extensions["tilelab"]
    first = portal.post("ada", key="once")
    portal.app.extensions["tilelab"] = replace(at, settings=replace(at.settings, free_mb=1e9))
    assert portal.post("ada", key="once").get_json() == first.get_json(), "it was accepted: that stays true"
    refused = ada.post_form(FORM, source=KERNEL, mode="rank")
    page = refused.get_data(as_text=True)
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert typed(page) == KERNEL
    assert 'data-refusal="disk_full"' in page
    answer = portal.post("ada")
    assert (answer.status_code, answer.get_json(force=True)["code"]) == (503, "disk_full")
    assert portal.client.get("/readyz").get_json(force=True)["code"] == "disk_full"
    portal.app.extensions["tilelab"] = at
    assert portal.post("ada").status_code == 202
