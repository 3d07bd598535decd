"""A program as CUDA C++: each access on a line of its own, and none that the compiler may merge, move or leave out.

Ordinary accesses stand behind an empty `asm` that clobbers memory, others are PTX. What is loaded goes into a sum that
is stored at the end; what the runner has to know goes to P, one row for each value, one column for each thread.
"""

from __future__ import annotations

from tests.races.programs import (
    Access,
    Array,
    Arrival,
    Atomic,
    BlockBarrier,
    Copy,
    CopyCommit,
    CopyWait,
    Fence,
    If,
    Loop,
    NamedBarrier,
    PhaseWait,
    Program,
    Return,
    Shuffle,
    Statement,
    WarpBarrier,
    reports,
    statements,
)
from tests.races.trace import BLOCK

_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long", 16: "uint4"}
_FENCES = {
    BLOCK: ("__threadfence_block();", 'asm volatile("fence.acq_rel.cta;" ::: "memory");'),
    "device": (
        "__threadfence();",
        'asm volatile("fence.acq_rel.gpu;" ::: "memory");',
        "__threadfence_system();",
        'asm volatile("fence.sc.gpu;" ::: "memory");',
    ),
}
_BARRIERS = (
    "__syncthreads();",
    "s += __syncthreads_count(t & 1);",
    "s += __syncthreads_or(t == 3);",
    'asm volatile("bar.sync 0;" ::: "memory");',
    "s += __syncthreads_and(t < 500);",
)
_SHUFFLES = (
    "s += __shfl_sync({mask}, s, t % 32);",
    "s += __ballot_sync({mask}, s & 1);",
    "s += __any_sync({mask}, s == 77);",
)
_KEEP = 'asm volatile("" ::: "memory");'
_TOKEN = "((at + 1) << 12)"


def render(program: Program, name: str, first_line: int) -> list[str]:
    """The lines of a kernel of that name, the first of them being line `first_line`; statements learn their lines."""
    writer = _Writer(program, first_line)
    writer.kernel(name)
    return writer.lines


class _Writer:
    def __init__(self, program: Program, first_line: int) -> None:
        self.lines: list[str] = []
        self._program = program
        self._first = first_line
        self._depth = 1

    def kernel(self, name: str) -> None:
        program = self._program
        self.lines.append(f'extern "C" __global__ void {name}(float* M, float* P, int n)')
        self.lines.append("{")
        self._add("const unsigned t = threadIdx.x, b = blockIdx.x;")
        self._add(f"const unsigned g = b * {program.threads} + t;")
        self._add("unsigned *OUT = (unsigned *)P, s = 0, at = g;")
        for array in program.arrays:
            self._array(array)
        for variable in sorted({name for each in statements(program.body) if (name := _observed(each))}):
            self._add(f"unsigned {variable} = 0;")
        self._phases()
        self._body(program.body)
        self._add("OUT[g] = s;")
        self.lines.append("}")

    def _array(self, array: Array) -> None:
        if array.shared:
            self._add(f"__shared__ alignas(16) unsigned char {array.name}[{array.size}];")
            self._add(f"const unsigned {array.name}a = (unsigned)__cvta_generic_to_shared({array.name});")
        else:
            self._add(f"unsigned char *{array.name} = (unsigned char *)M + {array.offset};")
            self._add(f"unsigned char *const {array.name}a = {array.name};")
        self._add(f"unsigned char *{array.name}g = {array.name};")
        self._add(f'asm volatile("" : "+l"({array.name}g) :: "memory");')

    def _phases(self) -> None:
        for phase in self._program.phases:
            self._add(f"__shared__ unsigned long long {phase.name};")
            self._add(f"const unsigned {phase.name}a = (unsigned)__cvta_generic_to_shared(&{phase.name});")
            self._add(f"unsigned {phase.name}p = 0;")
            start = f'asm volatile("mbarrier.init.shared.b64 [%0], {phase.count};" :: "r"({phase.name}a) : "memory");'
            self._add(f"if (t == 0) {{ {start} }}")
        if self._program.phases:
            self._add("__syncthreads();")

    def _add(self, text: str) -> int:
        self.lines.append("  " * self._depth + text)
        return self._first + len(self.lines) - 1

    def _body(self, body: list[Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Access():
                statement.line = self._add(_access(statement))
                self._report(statement)
            case Atomic():
                statement.line = self._add(_atomic(statement))
                self._report(statement)
            case Copy():
                statement.line = self._add(_copy(statement))
            case If(condition, body, other):
                self._nested(f"if ({condition}) {{", body)
                if other:
                    self._nested("else {", other)
            case Loop(variable, times, body, rolled):
                if rolled:
                    self._add("#pragma unroll 1")
                self._nested(f"for (unsigned {variable} = 0; {variable} < {times}; ++{variable}) {{", body)
            case Return():
                self._add("OUT[g] = s;")
                self._add("return;")
            case _:
                self._add(_order(statement))

    def _nested(self, head: str, body: list[Statement]) -> None:
        self._add(head)
        self._depth += 1
        self._body(body)
        self._depth -= 1
        self._add("}")

    def _report(self, statement: Access | Atomic) -> None:
        """Go on to the thread's next row of P, and store there what the statement got."""
        if reports(statement):
            self._add(f"at += {self._program.total};")
        if statement.observed:
            self._add(f"OUT[at] = {statement.observed};")


def _observed(statement: Statement) -> str:
    return statement.observed if isinstance(statement, Access | Atomic) else ""


# -- accesses ----------------------------------------------------------------------------------------------------------


def _access(access: Access) -> str:
    if access.style == "ptx" or (access.style == "volatile" and access.width == 16):
        return _ptx_store(access) if access.writes else _ptx_load(access)
    pointer = access.array.name + ("g" if access.style == "generic" else "")
    volatile = "volatile " if access.style == "volatile" else ""
    place = f"(({volatile}{_TYPES[access.width]} *){pointer})[{access.index}]"
    if access.writes:
        return f"{_KEEP} {place} = {_value(access)};"
    if access.observed:
        return f"{_KEEP} {access.observed} = (unsigned){place};"
    if access.width == 16:
        return f"{{ {_KEEP} const uint4 v = {place}; s += v.x + v.y + v.z + v.w; }}"
    if access.width == 8:
        return f"{{ {_KEEP} const unsigned long long v = {place}; s += (unsigned)v + (unsigned)(v >> 32); }}"
    return f"{_KEEP} s += {place};"


def _value(access: Access) -> str:
    if access.value:
        return _TOKEN if access.value == "token" else f"({_TYPES[access.width]})({access.value})"
    if access.width == 16:
        return "make_uint4(t, s, b, 1)"
    return f"({_TYPES[access.width]})(s + t + 1)"


def _address(array: Array, index: str, width: int) -> str:
    return f'"{"r" if array.shared else "l"}"({array.name}a + {width} * ({index}))'


def _space(array: Array) -> str:
    return "shared" if array.shared else "global"


def _form(access: Access) -> str:
    volatile = ".volatile" if access.style == "volatile" else ""
    return f"{volatile}.{_space(access.array)}"


def _ptx_load(access: Access) -> str:
    address = _address(access.array, access.index, access.width)
    form = _form(access)
    if access.width == 16:
        return (
            f'{{ unsigned x, y, z, w; asm volatile("ld{form}.v4.u32 {{%0, %1, %2, %3}}, [%4];" : "=r"(x), "=r"(y), '
            f'"=r"(z), "=r"(w) : {address} : "memory"); s += x + y + z + w; }}'
        )
    letter = {1: "r", 2: "h", 4: "r", 8: "l"}[access.width]
    kind = "unsigned" if access.width == 1 else _TYPES[access.width]
    target = access.observed or "s"
    sign = "=" if access.observed else "+="
    return (
        f'{{ {kind} v; asm volatile("ld{form}.u{8 * access.width} %0, [%1];" : "={letter}"(v) : {address} : "memory"); '
        f"{target} {sign} (unsigned)v; }}"
    )


def _ptx_store(access: Access) -> str:
    address = _address(access.array, access.index, access.width)
    form = _form(access)
    if access.width == 16:
        values = '"r"(t), "r"(s), "r"(b), "r"(1)'
        return f'asm volatile("st{form}.v4.u32 [%0], {{%1, %2, %3, %4}};" :: {address}, {values} : "memory");'
    letter = {1: "r", 2: "h", 4: "r", 8: "l"}[access.width]
    kind = "unsigned" if access.width == 1 else _TYPES[access.width]
    value = f"({kind})({_value(access)})"
    return f'asm volatile("st{form}.u{8 * access.width} [%0], %1;" :: {address}, "{letter}"({value}) : "memory");'


def _atomic(atomic: Atomic) -> str:
    kind = _TYPES[atomic.width]
    value = f"({kind})1" if atomic.does == "add" else f"({kind})({atomic.value or _TOKEN})"
    target = f"{atomic.observed} = (unsigned)" if atomic.observed else ""
    if atomic.order == "relaxed" and atomic.does in {"add", "swap"}:
        function = ("atomicAdd" if atomic.does == "add" else "atomicExch") + ("_block" if atomic.scope == BLOCK else "")
        return f"{target}{function}(({kind} *){atomic.array.name} + ({atomic.index}), {value});"
    form = f"{atomic.order}.{'cta' if atomic.scope == BLOCK else 'gpu'}.{_space(atomic.array)}"
    bits = 8 * atomic.width
    letter = "r" if atomic.width == 4 else "l"
    address = _address(atomic.array, atomic.index, atomic.width)
    keep = f"{target}v;" if target else "s += (unsigned)v;"
    if atomic.does == "store":
        return f'asm volatile("st.{form}.u{bits} [%0], %1;" :: {address}, "{letter}"({value}) : "memory");'
    if atomic.does == "load":
        load = f'asm volatile("ld.{form}.u{bits} %0, [%1];" : "={letter}"(v) : {address} : "memory");'
        return f"{{ {kind} v; {load} {keep} }}"
    does = f"add.u{bits}" if atomic.does == "add" else f"exch.b{bits}"
    return (
        f'{{ {kind} v; asm volatile("atom.{form}.{does} %0, [%1], %2;" : "={letter}"(v) : {address}, '
        f'"{letter}"({value}) : "memory"); {keep} }}'
    )


def _copy(copy: Copy) -> str:
    kind = "cg" if copy.width == 16 else "ca"
    target = _address(copy.array, copy.index, copy.width)
    source = _address(copy.source, copy.source_index, copy.width)
    return f'asm volatile("cp.async.{kind}.shared.global [%0], [%1], {copy.width};" :: {target}, {source} : "memory");'


# -- what orders accesses ----------------------------------------------------------------------------------------------


def _order(statement: Statement) -> str:
    match statement:
        case Fence(scope, spelling):
            return _FENCES[scope][spelling % len(_FENCES[scope])]
        case BlockBarrier(spelling):
            return _BARRIERS[spelling % len(_BARRIERS)]
        case WarpBarrier(mask):
            return f"__syncwarp({mask});"
        case Shuffle(mask, spelling):
            return _SHUFFLES[spelling % len(_SHUFFLES)].format(mask=mask)
        case NamedBarrier(number, threads, waits):
            verb = "sync" if waits else "arrive"
            return f'asm volatile("bar.{verb} {number}, {threads};" ::: "memory");'
        case Arrival(name):
            return (
                "{ unsigned long long v; "
                f'asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(v) : "r"({name}a) : "memory"); }}'
            )
        case PhaseWait(name):
            return _wait(name)
        case CopyCommit():
            return 'asm volatile("cp.async.commit_group;" ::: "memory");'
        case CopyWait(None):
            return 'asm volatile("cp.async.wait_all;" ::: "memory");'
        case CopyWait(left):
            return f'asm volatile("cp.async.wait_group {left};" ::: "memory");'
    raise AssertionError(statement)


def _wait(name: str) -> str:
    test = "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
    return (
        f'for (unsigned done = 0; !done;) {{ asm volatile("{test}" : "=r"(done) : "r"({name}a), "r"({name}p) '
        f': "memory"); }} {name}p ^= 1;'
    )
