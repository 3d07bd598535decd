"""The judge, with a device that does what each test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from kernels.compile.diagnostics import Resources
from kernels.device import Budget, Buffer, Execution, Schedule
from kernels.exercise import find_exercise
from kernels.judging.diagnosis import Diagnosis
from kernels.judging.judge import PRINT_LIMIT, Judgement, arguments, full_budget, judge, short_budget
from kernels.judging.outcomes import REPEATED, explain
from kernels.judging.plan import CasePlan, Plan, make_plan, select_cases
from kernels.verdict import CUT_SHORT, CaseStatus, Example, Finding, Severity, Verdict, decide
from tests.kernels.facts_of import at

SEED = "00112233445566778899aabbccddeeff"
SMALL = Resources(32, 2048, 0, 0, 0, 0, 1)

Change = Callable[[int, np.ndarray], np.ndarray]


@dataclass
class FakeDevice:
    """Multiplies, changes the product, and finds what it was told to find at each Width."""

    change: Change = lambda _, product: product
    findings: Callable[[int, Budget], Sequence[Finding]] = lambda _, __: ()
    serial: Change | None = None
    printed: str = ""
    spoil_input: bool = False
    calls: list[tuple[int, Schedule, int]] = field(default_factory=list)

    def __call__(self, case: CasePlan, buffers: Sequence[Buffer], schedule: Schedule, budget: Budget) -> Execution:
        assert case.launch is not None
        assert case.launch.threads <= 1024
        width = case.sizes["Width"]
        assert arguments(case) == ["M", "N", "P", width]
        assert [buffer.initialised for buffer in buffers] == [True, True, False]
        assert np.isnan(buffers[2].values).all()
        self.calls.append((width, schedule, budget.instructions))
        values = {buffer.name: buffer.values.copy() for buffer in buffers}
        left, right = (values[name].reshape(width, width).astype(np.float64) for name in "MN")
        change = self.serial if schedule is Schedule.WARP_SERIAL and self.serial else self.change
        values["P"] = np.asarray(change(width, left @ right), np.float32).ravel()
        if self.spoil_input:
            values["N"][1 % width] += 1
        return Execution(tuple(self.findings(width, budget)), values, self.printed, 100)


def plan(text: str | None = None) -> Plan:
    made = make_plan(find_exercise("tiled"), None, 16, SEED)
    return made if text is None else select_cases(made, text)


def wrong_at(*widths: int) -> Change:
    def change(width: int, product: np.ndarray) -> np.ndarray:
        if width in widths:
            product[-1, 0] += 7
        return product

    return change


def race(width: int, count: int = 3) -> Finding:
    example = at(f"Mds[0][{width}]", block=(0, 0, 0), threads=((0, 2, 0), (0, 0, 0)))
    return Finding(Verdict.DATA_RACE, f"Race at {width}.", 14, 11, count, example)


def statuses(found: Judgement) -> dict[str, CaseStatus]:
    return {check.case: check.status for check in found.checks}


def test_a_right_kernel_passes_every_case_that_is_run():
    found = judge(plan(), FakeDevice(), (SMALL,))
    assert decide(found.findings) is Verdict.ACCEPTED
    not_run = [check for check in found.checks if check.status is CaseStatus.NOT_RUN]
    assert [check.case for check in not_run] == ["Width=2048 integers_left"]
    assert "too large" in not_run[0].note
    assert set(statuses(found).values()) == {CaseStatus.PASSED, CaseStatus.NOT_RUN}
    assert found.launch is not None
    assert found.launch.blocks == 25
    assert found.launch_sizes == {"Width": 67}


def test_checks_keep_the_order_of_the_exercise_and_cases_run_from_the_smallest():
    device = FakeDevice()
    found = judge(plan(), device, (SMALL,))
    assert [check.case for check in found.checks] == [case.name for case in plan().cases]
    widths = [width for width, _, _ in device.calls]
    assert widths == sorted(widths)


def test_a_wrong_element_is_shown_at_the_smallest_width_with_the_count_of_all():
    found = judge(plan(), FakeDevice(wrong_at(17, 67)), (SMALL,))
    (finding,) = found.findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert finding.count == 4
    assert finding.message.startswith("`P[16][0]` is ")
    assert "(Width=17). 1 of 289 elements is incorrect" in finding.message
    assert "a single element" in finding.message
    assert finding.example == at("P[16][0]", case="Width=17 integers_left")
    assert statuses(found)["Width=17 integers_right"] is CaseStatus.FAILED
    assert statuses(found)["Width=16 permutation"] is CaseStatus.PASSED


def test_counts_of_a_case_have_their_digits_in_groups():
    found = judge(plan(), FakeDevice(lambda _, product: product + 1), (SMALL,))
    assert [check.note for check in found.checks if check.case == "Width=37 integers_right"] == [
        "1,369 of 1,369 elements incorrect"
    ]


def test_a_transposed_product_is_called_that():
    (finding,) = judge(plan(), FakeDevice(lambda _, product: product.T), (SMALL,)).findings
    assert "transposed" in finding.message


def test_findings_of_all_cases_become_one_with_the_smallest_example():
    found = judge(plan(), FakeDevice(findings=lambda width, _: [race(width)] if width > 16 else []), (SMALL,))
    (finding,) = found.findings
    failed = [case for case, status in statuses(found).items() if status is CaseStatus.FAILED]
    assert finding.count == 3 * len(failed)
    assert finding.message == "Race at 17."
    assert finding.example is not None
    assert (finding.example.element, finding.example.case) == ("Mds[0][17]", "Width=17 integers_left")


def test_errors_come_before_warnings_and_in_order_of_precedence():
    late = Finding(Verdict.UNINITIALIZED_READ, "u", 3)
    early = Finding(Verdict.OUT_OF_BOUNDS, "o", 9)
    warning = Finding(Verdict.OUT_OF_BOUNDS, "w", 1, severity=Severity.WARNING)
    found = judge(plan(), FakeDevice(findings=lambda _, __: [warning, late, early]), (SMALL,))
    assert [finding.message for finding in found.findings] == ["o", "u", "w"]


def test_a_warning_fails_no_case():
    warning = replace(race(1), severity=Severity.WARNING)
    found = judge(plan("Width=17"), FakeDevice(findings=lambda _, __: [warning]), (SMALL,))
    assert set(statuses(found).values()) == {CaseStatus.PASSED}
    assert decide(found.findings) is Verdict.ACCEPTED


def test_a_race_shows_the_wrong_value_that_one_warp_after_the_other_gives():
    device = FakeDevice(findings=lambda width, _: [race(width)] if width > 16 else [], serial=wrong_at(17))
    (finding,) = judge(plan(), device, (SMALL,)).findings
    assert finding.kind is Verdict.DATA_RACE
    assert finding.message.startswith("Race at 17. If warps run one at a time, `P[16][0]` becomes ")
    serial = [width for width, schedule, _ in device.calls if schedule is Schedule.WARP_SERIAL]
    assert serial == [17]


def test_a_race_shows_no_value_that_is_the_same_in_every_order_of_the_warps():
    wrong = wrong_at(17)

    def another_order(width: int, product: np.ndarray) -> np.ndarray:
        changed = wrong(width, product)
        changed[-1, 1] += 5
        return changed

    def message(serial: Change) -> str:
        device = FakeDevice(wrong, lambda width, _: [race(width)] if width > 16 else [], serial)
        return judge(plan(), device, (SMALL,)).findings[0].message

    assert message(wrong) == "Race at 17."
    assert "`P[16][1]` becomes" in message(another_order)


def test_a_race_within_a_warp_shows_no_value_of_another_order_of_warps():
    within = replace(race(17), example=Example(threads=((1, 0, 0), (0, 0, 0))))
    device = FakeDevice(findings=lambda *_: [within], serial=wrong_at(17))
    judge(plan(), device, (SMALL,))
    assert {schedule for _, schedule, _ in device.calls} == {Schedule.LOCKSTEP}


def test_a_race_that_also_gives_the_right_product_warp_by_warp_is_still_a_race():
    (finding,) = judge(plan(), FakeDevice(findings=lambda width, _: [race(width)]), (SMALL,)).findings
    assert (finding.kind, finding.message) == (Verdict.DATA_RACE, "Race at 1.")


def test_without_a_race_there_is_no_second_schedule():
    device = FakeDevice(wrong_at(17))
    judge(plan(), device, (SMALL,))
    assert {schedule for _, schedule, _ in device.calls} == {Schedule.LOCKSTEP}


def test_a_launch_of_too_many_blocks_shows_how_many_the_size_needs():
    endless = Finding(Verdict.TIME_LIMIT, "too many blocks", None, example=Example())
    made = select_cases(plan(), "Width=17 integers_left")
    (case,) = made.cases
    assert case.launch is not None
    launch = replace(case.launch, grid=(1000, 1, 1))
    made = replace(made, cases=(replace(case, launch=launch, launch_lines={"grid": 3}),))
    (finding,) = judge(made, FakeDevice(findings=lambda *_: [endless]), (SMALL,)).findings
    assert finding.line == 3
    assert finding.message == "The launch has 1,000 blocks. Width=17 needs only 4."


def test_after_an_endless_case_the_others_are_cut_short_and_only_the_first_counts():
    endless = Finding(Verdict.TIME_LIMIT, "endless", 5)
    device = FakeDevice(findings=lambda width, _: [endless] if width in {2, 17} else [])
    found = judge(plan(), device, (SMALL,))
    (finding,) = found.findings
    assert finding.count == 1
    budgets = {width: budget for width, _, budget in device.calls}
    cases = {case.sizes["Width"]: case for case in plan().cases}
    assert budgets[1] == full_budget(cases[1]).instructions
    assert budgets[17] == short_budget(cases[17]).instructions
    notes = {check.case: check.note for check in found.checks}
    assert notes["Width=2 integers_right"] == "time limit"
    assert notes["Width=17 integers_left"] == CUT_SHORT
    assert notes["Width=17 integers_right"] == REPEATED
    assert statuses(found)["Width=17 integers_left"] is CaseStatus.NOT_RUN
    assert statuses(found)["Width=17 integers_right"] is CaseStatus.NOT_RUN
    assert statuses(found)["Width=16 permutation"] is CaseStatus.PASSED


def test_a_changed_input_is_found():
    found = judge(plan("Width=17 integers_left"), FakeDevice(spoil_input=True), (SMALL,))
    (finding,) = found.findings
    assert finding.kind is Verdict.INPUT_MODIFIED
    assert finding.message.startswith("`N[0][1]` changed from ")
    assert finding.count == 1


@pytest.mark.parametrize(
    ("resources", "words"),
    [(Resources(32, 49_152 + 4, 0, 0, 0, 0, 1), "shared memory"), (Resources(255, 0, 0, 0, 0, 0, 1), "registers")],
)
def test_a_block_that_does_not_fit_is_not_run(resources, words):
    device = FakeDevice()
    made = make_plan(find_exercise("tiled"), None, 32, SEED)
    found = judge(made, device, (resources,))
    assert decide(found.findings) is Verdict.RESOURCE_LIMIT
    assert words in found.findings[0].message
    assert device.calls == []


def test_a_launch_that_has_no_value_is_a_resource_limit():
    made = plan("Width=17")
    problem = Finding(Verdict.RESOURCE_LIMIT, "no launch", 7)
    broken = replace(made, cases=tuple(replace(case, launch=None, problem=problem) for case in made.cases))
    found = judge(broken, FakeDevice(), (SMALL,))
    assert found.findings == (replace(problem, count=len(made.cases)),)


def test_what_the_kernel_prints_is_kept_for_one_case_and_bounded():
    found = judge(plan(), FakeDevice(printed="x" * (PRINT_LIMIT + 5)), (SMALL,))
    assert len(found.printed) == PRINT_LIMIT
    assert found.printed_case == "Width=1 integers_left"


def test_only_explanations_of_most_failing_cases_are_given():
    a, b, place = Diagnosis("a", "A."), Diagnosis("b", "B."), Diagnosis("where", "W.", is_place=True)

    def explained(diagnoses: Sequence[Sequence[Diagnosis]]) -> list[tuple[str, int, int]]:
        return [(each.text, each.cases, each.failing) for each in explain(diagnoses)]

    assert explained([[a, place], [a, b], [a]]) == [("A.", 3, 3)]
    assert explained([[b, place], [b, place], []]) == [("B.", 2, 3), ("W.", 2, 3)]
    in_all = Diagnosis("c", "C.", in_all=True)
    assert explained([[a, in_all], [in_all], [in_all]]) == [("C.", 3, 3)]
    assert explained([[a, in_all], [a, in_all], []]) == [("A.", 2, 3)]
