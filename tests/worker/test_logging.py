"""Every line says what it is about, in one of two forms, and none has a password."""

from __future__ import annotations

import io
import json
import logging
import threading

import pytest

from worker.contract.logging import (
    JsonLines,
    LogSettingError,
    about,
    configure,
    context,
    name_process,
    without_passwords,
)


@pytest.fixture
def lines():
    """Configures, and says what was written; the root logger is as it was afterwards, and nothing has a name."""
    from worker.contract import logging as ours

    ours._process.clear()  # a command that was tried in this process may have named it
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    written = io.StringIO()

    def start(form: str, level: str = "") -> io.StringIO:
        configure(form, level, written, {})
        return written

    yield start
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    ours._process.clear()


def test_a_line_of_json_names_worker_job_step_and_attempt(lines):
    written = lines("json")
    name_process(worker="w/cpu-0")
    log = logging.getLogger("some.library")
    with about(job=7, step="check"), about(attempt=2):
        log.warning("a %s\nb", "word")
    log.info("after")
    first, second = map(json.loads, written.getvalue().splitlines())
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "level": "warning", "logger": "some.library", "text": "a word\nb", "worker": "w/cpu-0", "job": 7,
        "step": "check", "attempt": 2,
    }  # fmt: skip
    assert "job" not in second
    assert second["worker"] == "w/cpu-0"


def test_a_line_of_text_says_the_same(lines):
    written = lines("text")
    with about(job=7):
        logging.getLogger("x").error("first\nsecond")
    assert "ERROR   x [job=7] first\n    second\n" in written.getvalue()


def fail(text: str) -> None:
    raise ConnectionError(text)


@pytest.mark.parametrize("form", ["json", "text"])
def test_passwords_are_left_out_wherever_they_stand(lines, form):
    written = lines(form)
    url = "redis://:pa@ss/w0rd@host:6379/0"
    other = "postgresql+psycopg://me:pa@ss/w0rd@db/tilelab"
    log = logging.getLogger("x")
    log.warning("at %s", url)
    try:
        fail(f"no answer from {url}, nor {other}")
    except ConnectionError:
        log.exception("failed")
    assert "w0rd" not in written.getvalue()
    assert "host:6379" in written.getvalue()
    assert "db/tilelab" in written.getvalue()
    assert without_passwords("see https://localhost/a@b") == "see https://localhost/a@b"


def test_a_librarys_mistake_costs_no_line():
    record = logging.LogRecord("x", logging.WARNING, "", 1, "%d of %d", ("one",), None)
    assert json.loads(JsonLines().format(record))["text"] == "%d of %d ('one',)"


def test_a_thread_has_what_it_is_about_to_itself(lines):
    lines("text")
    seen = []
    with about(job=1):
        thread = threading.Thread(target=lambda: seen.append(context()))
        thread.start()
        thread.join()
        assert context() == {"job": 1}
    assert seen == [{}]


def test_configuring_twice_writes_each_line_once(lines):
    lines("json")
    written = lines("json")
    logging.getLogger("x").warning("once")
    assert len(written.getvalue().splitlines()) == 1


def test_the_level_holds_and_wordy_libraries_speak_up_only_when_something_is_wrong(lines):
    written = lines("json", "error")
    logging.getLogger("x").warning("not this")
    lines("json", "info")
    logging.getLogger("celery.app.trace").info("nor this")
    assert written.getvalue() == ""


@pytest.mark.parametrize(
    ("given", "name"),
    [({"TILELAB_LOG": "xml"}, "TILELAB_LOG 'xml'"), ({"TILELAB_LOG_LEVEL": "7"}, "TILELAB_LOG_LEVEL")],
)
def test_a_setting_that_there_is_not_is_said(given, name):
    with pytest.raises(LogSettingError, match=name):
        configure(environment=given)
