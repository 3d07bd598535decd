from __future__ import annotations

import io
import json

from worker.supervision.output import PartOutput, code_text
from worker.supervision.parts import Event, What


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_line_for_a_person_has_the_parts_name_and_no_control_characters():
    stream = io.StringIO()
    PartOutput(stream).line("web", "a \x1b[31mred line")
    assert stream.getvalue().startswith("web | a ")
    assert "\x1b" not in stream.getvalue()


def test_json_lines_pass_and_others_become_json():
    stream = io.StringIO()
    output = PartOutput(stream, as_json=True)
    output.line("web", '{"level":  "info"}')
    output.line("web", "Traceback")
    output.line("web", "{no json}")
    output.event(Event("web", What.DIED, 7, 1, 0.2, "why"))
    first, *others = stream.getvalue().splitlines()
    assert first == '{"level":  "info"}'
    found = [json.loads(line) for line in others]
    assert [(each["part"], each["level"]) for each in found] == [
        ("web", "info"), ("web", "info"), ("tilelab", "warning"),
    ]  # fmt: skip
    assert found[-1]["text"] == "web died (exit code 1: why); restarting in 0.2 s"


def test_nobody_reading_ends_nothing():
    PartOutput(Gone()).say("still here")


def test_exit_codes_read_as_words():
    assert [code_text(code) for code in (None, 3, -9, -200)] == [
        "it never started", "exit code 3", "ended by SIGKILL", "ended by signal 200",
    ]  # fmt: skip
