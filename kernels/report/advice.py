"""The advice for the next step: the verdict's own, or a better one for a known situation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kernels.exercise.input_words import case_sizes
from kernels.exercise.model import InputKind, Operation
from kernels.facts import Mistake
from kernels.launch import Launch, is_launch_comment
from kernels.report.barriers import barrier_place, barrier_step, other_barrier, wrong_bytes
from kernels.report.clues import Sizes, advice_of_clues, sizes_that_fail
from kernels.report.guards import either_is_enough, filled, guard, limit_of_all, too_far
from kernels.report.model import Report, Step
from kernels.report.races import Race, race_step
from kernels.report.source_facts import (
    changed_names,
    code_of,
    code_of_all,
    declared_shared,
    integer_parameters,
    is_shared,
    names_in,
    parts_of,
    statements_at,
)
from kernels.report.unwritten import unwritten_step
from kernels.verdict import CaseStatus, Finding, Verdict, errors_of
from kernels.wording import lines_named, listed, plural

_BUILT_IN = {"blockDim", "gridDim", "threadIdx", "blockIdx", "x", "y", "z"}
_UNCLEAR = re.compile(r"\w\s*\(|\[|->|&(?!&)|(?:^|[(!&|=<>])\s*\*")
"""A condition with a call, an array or a pointer may change on its own."""
_LEAVES = re.compile(r"\b(?:break|return|goto|asm)\b")
_REFERENCE = re.compile(r"\b(?:int|unsigned|size_t|float|double)\s*&")
_NEVER_NEGATIVE = re.compile(r"\b(?:unsigned(?:\s++int)?|size_t)\s++(\w++)\s*+=.{0,200};\s*+\1\s*+>=\s*+0\s*+;")


def endless_step(finding: Finding, lines: Sequence[str]) -> Step | None:
    """The step for a counter that never changes or is never negative; None without one."""
    around = statements_at(finding.line, lines) if finding.line is not None else []
    loop = next((each for each in around if each.first == finding.line and each.word in {"for", "while"}), None)
    if loop is None:
        return None
    parts = parts_of(loop, lines)
    if (unsigned := _NEVER_NEGATIVE.search(parts.condition)) is not None:
        name = unsigned[1]
        text = f"`{name}` is unsigned, so `{name} >= 0` is always true. Declare it as `int` at line {loop.first}."
        return Step("endless.unsigned", text, {loop.first: f"{name} is never below 0"})
    clauses = parts.condition.split(";")
    condition = clauses[1] if len(clauses) == 3 else parts.condition
    name = _counter(condition, lines)
    changed = changed_names(f"{';'.join(clauses[2:])};{parts.body}")
    if not name or _UNCLEAR.search(condition) or _LEAVES.search(parts.body) or names_in(condition) & changed:
        return None
    verb = {"<": "Increase", ">": "Decrease"}.get(condition.partition(name)[2].lstrip()[:1], "Change")
    where = "in the loop's head" if len(clauses) == 3 else "at the end of the loop"
    text = f"`{name}` never changes in the loop at line {loop.first}. {verb} it {where}."
    return Step("endless.unchanged", text, {loop.first: f"{name} never changes"})


def _counter(condition: str, lines: Sequence[str]) -> str:
    """The only variable of a thread in a condition; "" for none, several or one that other threads may change."""
    code = code_of_all(lines)
    known = {*_BUILT_IN, *integer_parameters(lines)}
    found = [name for name in names_in(condition) - known if not name.isupper()]
    if len(found) != 1 or _REFERENCE.search(code):
        return ""
    shared = re.search(rf"\b(?:volatile|__shared__|__device__|__managed__)\b[^;(){{}}]{{0,200}}\b{found[0]}\b", code)
    return "" if shared else found[0]


_FEW_THREADS = 64
"""A launch with more elements for each thread than this has few threads."""

_MOST_LINES = 3
_NUMBERS = r"float|(?:unsigned )?int"

_WRONG_SUM = (
    "Follow the block of {element} by hand. Which elements does each thread load? What does it add in each step? "
    "Which thread writes the sum?"
)
_WRONG_ELEMENT = (
    "Follow {element} by hand. Which thread writes it? From which elements does this thread compute it, and with which "
    "indices?"
)
_WRONG_TRANSPOSE = (
    "Follow {element} by hand. Where does its thread read the value? Where must it write the value after row and "
    "column change places?"
)

_GRID = "Correct `grid=` in the `//!tilelab` comment{at}."

_LAUNCH_COMMENT = (
    "Correct the `//!tilelab` comment{at}. Each number of grid and block must be at least 1. A block has at most "
    "1,024 threads and 64 K registers. The exercise limits its shared memory."
)


_WARPGROUP = " `wgmma` needs all four warps of a warpgroup, as in `threadIdx.x / 128 == 0`."
_ONE_ERROR = "Correct this one error{first}. The compiler found no other."
_REPAIRS: Mapping[Mistake, str] = {
    Mistake.PARAMETERS: "Write the expected parameters{first}. Then use their names in the kernel's body.",
    Mistake.SEMICOLON: "Add `;` at the end of{end}.",
    Mistake.NEVER_CLOSED: "Add a `}}` where the unclosed block ends, often at the end of the file.",
    Mistake.UNDEFINED: "Write `{meant}` instead of `{unknown}`{first}.",
    Mistake.LAUNCH_BOUNDS: "Make the block smaller, or raise `__launch_bounds__`{at} to the block's number of threads.",
    Mistake.CLUSTER_SIZE: "Choose clusters of at most 8 blocks, and a grid of whole clusters on each axis.",
    Mistake.CLUSTER_ADDRESS: (
        "Ask{at} for a rank below the number of blocks in the cluster. In PTX, use `.shared::cluster` for addresses "
        "that come from `mapa`."
    ),
    Mistake.COPY_SIZE: (
        "Copy{at} a multiple of 16 bytes, and no more than the tile has. Multiply elements by their size. Load the "
        "elements that are left with ordinary accesses."
    ),
    Mistake.NO_BARRIER: (
        "Give each barrier memory of its own, and initialise it before its first use{at}. Neither a tile nor a copy "
        "may write there until `mbarrier.inval` has ended it."
    ),
    Mistake.PRINTF: "Give `printf`{at} one argument for each conversion in its format.",
    Mistake.ASSERTION: "Let the kernel work without the condition of the assertion{at}, or make the condition true.",
    Mistake.MATRIX: (
        "Let all 32 threads of a warp execute the matrix instruction{at}, with the same arguments. A block needs a "
        "multiple of 32 threads.{warpgroup}"
    ),
    Mistake.TENSOR_MAP: (
        "Give each copy{at} the address of a parameter `const __grid_constant__ CUtensorMap`. Its box needs one "
        "coordinate for each dimension. The first is at a multiple of 16 bytes. A store needs coordinates from 0 up."
    ),
    Mistake.TRAP: "Let the kernel handle this case instead of stopping{at}.",
}
"""The advice after a mistake, whatever the source says."""


def next_step(report: Report, lines: Sequence[str]) -> Step:
    """The step after this report, with the lines that show why. lines: of the graded source."""
    leading = [finding for finding in report.findings if finding.kind is report.verdict]
    leading = errors_of(leading) or leading
    first = leading[0] if leading else Finding(report.verdict, "")
    known = _KNOWN.get(report.verdict) if leading else None
    step = known(leading, report, lines) if known is not None else None
    if first.facts.failed_waits:
        step = Step("failed_wait", _FAILED_WAIT.format(lines=lines_named(first.facts.failed_waits)))
    step = step or Step(report.verdict.value, report.verdict.advice)
    unknown, meant = (*first.facts.names, "", "")[:2]
    text = step.text.format(
        unknown=unknown,
        meant=meant,
        name=first.array,
        at=_at([each for each in leading if each.facts.mistake is first.facts.mistake]),
        first=_at(leading[:1]),
        end=_at(leading[:1]).removeprefix(" at"),
        between=barrier_place(leading or [first], lines),
        warpgroup=_WARPGROUP if "wgmma" in code_of_all(lines) else "",
        element=f"`{first.example.element}`" if first.example and first.example.element else "one element",
    )
    return replace(step, text=text)


def _at(findings: Sequence[Finding]) -> str:
    """` at lines 3, 7 and 9`: the first few lines of the findings; "" if none is known."""
    known = sorted({finding.line for finding in findings if finding.line is not None})
    if len(known) > _MOST_LINES:
        return f" at lines {', '.join(map(str, known[:_MOST_LINES]))} and others"
    return f" at {lines_named(known)}" if known else ""


def _rejected(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    """The advice for a file that can't be graded; empty if its findings name the repair."""
    kinds = {finding.facts.mistake: finding.line for finding in reversed(leading)}
    main = kinds.get(Mistake.MAIN)
    if re.search(r"\S\s*\b(?:int|void|auto)\s+main\s*\(", code_of(main, lines)):
        text = f"Begin a new line before `main` at line {main}. Then Tilelab leaves `main` out."
        return Step("main_in_line", text)
    if Mistake.PARAMETERS in kinds:
        return _repair(Mistake.PARAMETERS)
    host = kinds.keys() & {Mistake.MAIN, Mistake.HOST_CODE}
    return Step("host_code", report.verdict.advice) if host else Step("", "")


def _repair(mistake: Mistake) -> Step:
    return Step(mistake.value, _REPAIRS[mistake])


def _compile_error(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    """The advice for the compiler's errors: the repair, if there is only one and its repair is known."""
    if len(leading) > 1:
        return None
    mistake = leading[0].facts.mistake
    return _repair(mistake) if mistake in _REPAIRS else Step("one_error", _ONE_ERROR)


def _runtime_error(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    """The advice for a kernel that stops; None if its mistake isn't known."""
    mistake = leading[0].facts.mistake
    if mistake is Mistake.MISALIGNED:
        return Step("misaligned", _misaligned(leading[0], lines))
    return _repair(mistake) if mistake in _REPAIRS else None


def _misaligned(finding: Finding, lines: Sequence[str]) -> str:
    """The advice for a wide access at an address that isn't a multiple of its size."""
    wide = re.search(r"\b(float|u?int|double)([24])\b", code_of(finding.line, lines))
    elements = "floats" if wide is not None and wide[1] == "float" else "elements"
    text = f"{'Write' if finding.facts.stores else 'Read'} single {elements}{{at}}."
    widths = integer_parameters(lines)
    # Only the start of a row is at a multiple of the width alone.
    if wide is None or not finding.indices[1:] or finding.indices[1] % int(wide[2]) or len(widths) != 1:
        return text
    if is_shared(finding.array, lines):
        return text
    return f"{text} Or use `{wide[0]}` only if `{widths[0]}` is a multiple of {wide[2]}."


_IMPOSSIBLE_MAP = (
    "Correct the numbers of this tensor map: `box.` and `swizzle.` in the `//!tilelab` comment{at}, or the macros that "
    "they use."
)


def _wrong_answer(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    return advice_of_clues(report, lines) or _OF_KIND.get(report.inputs)


def _limits(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    """The advice for a launch that exceeds a limit."""
    text = report.verdict.advice
    for mistake in (Mistake.LAUNCH_BOUNDS, Mistake.CLUSTER_SIZE):
        if any(finding.facts.mistake is mistake for finding in leading):
            return _repair(mistake)
    if largest := leading[0].facts.largest_tile:
        defined = re.search(r"\b(?:define\s+|int\s+)(\w+)", code_of(leading[0].line, lines))
        tile = f"`{defined[1]}`{{first}}" if defined is not None else "the tile"
        smaller = f"Set {tile} to {largest:,} or less, or set `block=` in a launch comment."
        return Step("large_tile", smaller)
    named = [lines[f.line - 1] for f in leading if f.line is not None and f.line <= len(lines)]
    if report.inputs in _OF_KIND:
        text = text.replace("its tiles", "its shared arrays")
    if leading[0].facts.mistake is Mistake.IMPOSSIBLE_MAP:
        return Step("impossible_map", _IMPOSSIBLE_MAP)
    if any(map(is_launch_comment, named)):
        return Step("launch_comment", _LAUNCH_COMMENT)
    return Step(report.verdict.value, text)


def _time(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    """The step if a launch, a barrier or a loop runs too long."""
    line = next((finding.line for finding in leading if finding.line is not None), 0)
    if 0 < line <= len(lines) and is_launch_comment(lines[line - 1]):
        return Step("grid", _GRID)
    if (other := other_barrier(leading[0])) is not None:
        return other
    if (step := endless_step(leading[0], lines)) is not None:
        return step
    few = _few_threads(report) if report.inputs not in _OF_KIND else ""
    return Step("few_threads" if few else report.verdict.value, report.verdict.advice + few)


def _outside(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    """The step for accesses outside an array, in the words of the source; None if no array is known."""
    for known in (Mistake.PRINTF, Mistake.CLUSTER_ADDRESS):
        if any(each.facts.mistake is known for each in leading):
            return _repair(known)
    names = [name for name in dict.fromkeys(each.array for each in leading) if name.isidentifier()]
    if not names:
        return None
    if (past := too_far(leading[0], lines) or either_is_enough(leading, lines)) is not None:
        return past
    declared = declared_shared(names[0], lines)
    if declared is None and (len(names) > 1 or len({finding.line for finding in leading}) > 1):
        arrays = listed([f"`{name}`" for name in names[:_MOST_LINES]])
        text = f"Guard each access to {arrays}{{at}}. {limit_of_all(leading, names, lines)}"
        text += " If a size isn't a multiple of the block, some threads have no element."
        return Step("guard.all", text + filled(leading, lines))
    key, text = guard(leading[0], names[0], _at(leading[:1]), lines)
    text = text.replace("{", "{{").replace("}", "}}")
    return Step(key, text, {} if declared is None else {declared: f"declares {names[0]}"})


def _changed_input(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    """The advice for a write to an input; None if its name isn't known."""
    name = leading[0].array
    if not name:
        return None
    if (elsewhere := _same_store(leading, lines)) is not None:
        text = f"Delete line {leading[0].line}. Line {elsewhere} stores the same value in the output."
        return Step("input.same_store", text)
    pattern = rf"(const\s+)?\b({_NUMBERS})\s*\*\s*(__restrict__\s+)?{re.escape(name)}\b"
    pointer = re.search(pattern, "\n".join(lines))
    text = "Store the result{at} in the output, not in `{name}`."
    if pointer is None or pointer[1] is not None:
        return Step("input", text)
    text = f"{text} Declare `const {pointer[2]}* {{name}}` to let the compiler find such stores."
    return Step("input.not_const", text)


def _same_store(leading: Sequence[Finding], lines: Sequence[str]) -> int | None:
    """Another line that stores the same value, at the same index of an array that isn't an input."""
    a_store = re.compile(r"\s*+(\w++)\s*+(\[.{0,200}\]\s*+=(?!=).{0,200};)\s*+")
    stores = {number: a_store.fullmatch(code_of(number, lines)) for number in range(1, len(lines) + 1)}
    wrong = stores.get(leading[0].line or 0)
    inputs = {each.array for each in leading}
    if wrong is None or wrong[1] not in inputs:
        return None
    same = (
        number
        for number, store in stores.items()
        if store and store[2] == wrong[2] and store[1] not in inputs and not is_shared(store[1], lines)
    )
    return next(same, None)


def _unwritten(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    padded = report.inputs not in _OF_KIND and sizes_that_fail(report) is Sizes.PARTIAL_TILE
    return unwritten_step(leading[0], lines, padded=padded)


def _barrier(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    return barrier_step(leading[0], lines)


def _spread(launch: Launch) -> list[str]:
    """The built-in indices that differ in a launch."""
    extents = zip(("threadIdx", "blockIdx"), (launch.block, launch.grid), strict=True)
    return [f"{name}.{axis}" for name, sizes in extents for axis, size in zip("xy", sizes, strict=False) if size > 1]


def _race(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step:
    if any(each.facts.mistake is Mistake.NO_BARRIER for each in report.findings):
        return _repair(Mistake.NO_BARRIER)
    of_copy = leading[0].facts.mistake in {Mistake.TRANSFER, Mistake.EARLY_TRANSFER}
    if of_copy and (step := wrong_bytes(report.findings)) is not None:
        return step
    name = leading[0].array
    launch = report.launch
    return race_step(
        Race(
            leading[0],
            name,
            lines,
            outside=bool(name) and not is_shared(name, lines),
            tiles=report.inputs not in _OF_KIND and is_shared(name, lines),
            spread=[] if launch is None else _spread(launch),
            in_warps=all(each.facts.one_warp for each in leading),
        )
    )


_FAILED_WAIT = (
    "Repeat the wait at {lines} until it succeeds, such as in `while (!wait(...));`. It may fail as long as the "
    "phase isn't over. Repeat it with the same barrier and the same parity or token."
)
_FIRST_COME = (
    "Threads use memory{first} in any order, and each run may have another one. Choose what a thread does by "
    "`threadIdx` and `blockIdx`. Let one thread store a value that all use."
)
_BLOCKS_COME = (
    "Blocks run in any order, and `__syncthreads()` works only inside a block. Let one block do both. Or use an update "
    "whose order doesn't matter, such as `atomicAdd` without its old value."
)


def _order(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> Step | None:
    finding = leading[0]
    if finding.other_line in {None, finding.line}:
        return Step("order.first_come", _FIRST_COME)
    return Step("order.blocks", _BLOCKS_COME) if finding.facts.between_blocks else None


_KNOWN: Mapping[Verdict, Callable[[Sequence[Finding], Report, Sequence[str]], Step | None]] = {
    Verdict.REJECTED: _rejected,
    Verdict.COMPILE_ERROR: _compile_error,
    Verdict.RESOURCE_LIMIT: _limits,
    Verdict.OUT_OF_BOUNDS: _outside,
    Verdict.BARRIER_DIVERGENCE: _barrier,
    Verdict.DATA_RACE: _race,
    Verdict.ORDER_DEPENDENT: _order,
    Verdict.UNINITIALIZED_READ: _unwritten,
    Verdict.TIME_LIMIT: _time,
    Verdict.INPUT_MODIFIED: _changed_input,
    Verdict.RUNTIME_ERROR: _runtime_error,
    Verdict.WRONG_ANSWER: _wrong_answer,
}


_OF_KIND: Mapping[str, Step] = {
    InputKind.INTEGERS: Step("follow.sum", _WRONG_SUM),
    InputKind.MANTISSAS: Step("follow.transpose", _WRONG_TRANSPOSE),
    **dict.fromkeys(InputKind.of(Operation.SOLUTION), Step("follow.element", _WRONG_ELEMENT)),
}
"""Advice for exercises without a matrix product. The inputs of their cases tell them apart."""


def _few_threads(report: Report) -> str:
    """A hint that the launch may have too few threads for the work; "" if it has many."""
    if report.launch is None:
        return ""
    ran = (check.case for check in report.checks if check.status is not CaseStatus.NOT_RUN)
    elements = max((min(sizes) ** 2 for sizes in map(case_sizes, ran) if sizes), default=0)
    threads = report.launch.threads * report.launch.blocks
    if threads * _FEW_THREADS >= elements:
        return ""
    return f" Or too few threads share the work. This launch has {plural(threads, 'thread')} in all."
