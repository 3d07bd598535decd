"""The disassembler in its child: the real one on real and broken kernels, and small programs that misbehave."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from kernels.compile.compilation import Compilation, compile_source
from tests.marks import linux
from tests.worker.fleet.watched import wait_until
from worker.sandbox import disassembler
from worker.sandbox.disassembler import CUBIN_LIMIT, Disassembler, disassemble
from worker.sandbox.limits import Limits
from worker.steps.stages import SandboxedStages

pytestmark = linux

SOURCE = """__global__ void Scale(float* values, float by) {
    values[threadIdx.x] *= by;
}"""
LIMITS = Limits(wall_seconds=10, cpu_seconds=2, memory_bytes=2**30, response_bytes=2**20)

PROBE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char** words) {
    char what = '?', buffer[64];
    int file = open(words[count - 1], O_RDONLY);
    long size = read(file, buffer, sizeof buffer - 1);
    buffer[size < 0 ? 0 : size] = 0;
    what = buffer[0];
    if (what == 's') for (;;) sleep(1);
    if (what == 'l') for (;;) write(1, buffer, sizeof buffer);
    if (what == 'b') for (;;) ;
    if (what == 'o') printf("%d", open(buffer + 1, O_RDONLY));
    if (what == 'w') printf("%d", open("made", O_CREAT | O_WRONLY, 0600));
    if (what == 'n') printf("%d", socket(AF_INET, SOCK_STREAM, 0));
    if (what == 'f') printf("%d", fork());
    if (what == 'x') printf("%d", execl("/bin/true", "true", (char*)0));
    if (what == 'e') printf("%d", open("/proc/self/environ", O_RDONLY));
    if (what == 'k') printf("fine");
    return what == 'r';
}
"""


@pytest.fixture(scope="module")
def cubin():
    made = compile_source(SOURCE, "Scale", "sm_90", {}, fmad=True)
    assert isinstance(made, Compilation)
    return made.cubin


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """A program in the disassembler's place that tries what the file's first letter says."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make the probe with")
    folder = tmp_path_factory.mktemp("probe")
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(PROBE)
    subprocess.run([compiler, "-w", "-o", program, source], check=True)
    return program


def child_of(running: Disassembler) -> disassembler.ProgramChild:
    assert running._child is not None
    return running._child


def run(probe, text):
    with Disassembler(text.encode(), LIMITS, probe) as running:
        return running.result()


def test_a_compiled_kernel_is_disassembled_with_its_lines(cubin):
    text = disassemble(cubin).text

    assert text is not None
    assert '"/kernel.cu", line 2' in text
    assert "STG.E" in text


def test_it_runs_while_the_caller_does_other_things(cubin):
    with Disassembler(cubin) as running:
        until = time.monotonic() + 60
        while child_of(running).alive() and time.monotonic() < until:
            time.sleep(0.05)
        assert not child_of(running).alive(), "it waits until somebody reads"
        assert running.result().text
        assert running.result() is running.result()


def test_the_stages_of_a_job_hand_it_out(cubin):
    with SandboxedStages() as stages:
        assert stages.disassembly().text is None
        stages.start_disassembly(cubin)
        assert stages.disassembly().text == disassemble(cubin).text


def test_the_program_may_look_for_its_files_and_has_no_other_right(probe):
    with Disassembler(b"s", LIMITS, probe) as running:
        process = Path(f"/proc/{child_of(running)._process.pid}")
        wait_until(lambda: (process / "cmdline").read_bytes().startswith(bytes(probe)))
        lines = (process / "status").read_text("ascii").splitlines()
        found = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
        assert {int(found[name][0], 16) & ~(1 << 2) for name in ("CapPrm", "CapEff", "CapInh")} == {0}
        assert int((process / "oom_score_adj").read_text("ascii")) == 1000


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"\x7fELF" + bytes(200)])
def test_what_is_no_kernel_gives_a_reason(content):
    answer = disassemble(content)

    assert answer.text is None
    assert answer.reason == "the disassembler could not read this kernel"


def test_a_damaged_kernel_never_raises(cubin):
    for place in range(40, len(cubin), len(cubin) // 5):
        damaged = bytearray(cubin)
        damaged[place : place + 16] = b"\xff" * 16
        answer = disassemble(bytes(damaged))
        assert (answer.text is None) == bool(answer.reason)


def test_a_huge_kernel_is_not_tried():
    assert "too large" in disassemble(bytes(CUBIN_LIMIT + 1)).reason


def test_without_the_disassembler_there_is_a_reason(cubin, monkeypatch):
    monkeypatch.setattr(disassembler, "find_program", lambda: None)

    assert "not installed" in disassemble(cubin).reason


def test_a_program_that_is_not_there_gives_a_reason(cubin, tmp_path):
    with Disassembler(cubin, LIMITS, tmp_path / "nothing") as running:
        assert running.result().text is None


@pytest.mark.parametrize(
    ("what", "limits", "reason"),
    [
        ("sleeps", Limits(wall_seconds=0.5), "took too long"),
        ("busy", Limits(wall_seconds=60, cpu_seconds=1), "took too long"),
        ("long", LIMITS, "wrote too much"),
        ("refuses", LIMITS, "could not read"),
    ],
)
def test_it_is_ended_at_its_limits(probe, what, limits, reason):
    with Disassembler(what.encode(), limits, probe) as running:
        child_of(running).wait_ready()
        started = time.monotonic()
        answer = running.result()

    assert answer.text is None
    assert reason in answer.reason
    # it would go on for ever; a busy machine takes long to give a second of processor time
    assert time.monotonic() - started < 30
    assert child_of(running).cpu_seconds < 2


def test_the_probe_does_what_it_is_told(probe):
    assert run(probe, "k").text == "fine"


def test_it_opens_its_own_file_and_no_other(probe, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")

    assert int(run(probe, "okernel.cubin").text) >= 0
    for path in (str(secret), "/etc/passwd", "/proc/self/environ", str(tmp_path), __file__):
        assert run(probe, "o" + path).text == "-1"


@pytest.mark.parametrize("what", ["writes", "network", "forks", "x", "environment"])
def test_it_can_do_nothing_else(probe, what):
    assert run(probe, what).text == "-1"


def test_what_it_leaves_behind_is_removed(probe, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run(probe, "k")

    assert list(tmp_path.iterdir()) == []


def test_without_landlock_it_is_not_run(cubin, monkeypatch):
    bootstrap = "from worker.sandbox.confinement import landlock; landlock.give_up_everything = lambda **_: 0; "
    command = disassembler.ProgramChild._command

    def without(self, step, answers):
        words = command(self, step, answers)
        place = words.index("-c") + 1
        first, second = words[place].split("from worker", 1)
        words[place] = f"{first}{bootstrap}from worker{second}"
        return words

    monkeypatch.setattr(disassembler.ProgramChild, "_command", without)

    assert disassemble(cubin).reason == disassembler.UNCONFINED
