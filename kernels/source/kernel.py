"""Finds the `__global__` functions of a file and checks the exercise's kernel among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kernels.exercise import Exercise
from kernels.exercise.model import Launched, Parameter
from kernels.exercise.tensor_map import MAP_TYPE
from kernels.facts import Facts, Mistake
from kernels.source.constants import Macro
from kernels.source.statements import statements
from kernels.source.text import Kind, Token, closing, split_at_commas
from kernels.verdict import Finding, Severity, Verdict, rejected
from kernels.wording import closest

_BEFORE_NAME = {"void", "static", "inline", "extern", "__forceinline__", "__noinline__", "constexpr"}
_WITH_ARGUMENTS = {
    "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__", "alignas",
}  # fmt: skip
_QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "__restrict__", "register", "__grid_constant__"}
_BUILT_IN = {
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "size_t", "ptrdiff_t",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uint", "half", "__half",
    "half2", "__nv_bfloat16", "nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "float2", "float3", "float4", "dim3",
    "CUtensorMap",
}  # fmt: skip
# All have 32 bits, so the launch is the same for each of them.
_SIZES = {
    ("int",), ("signed",), ("int", "signed"), ("int32_t",),
    ("unsigned",), ("int", "unsigned"), ("uint32_t",), ("uint",),
}  # fmt: skip
_SIGNED, _UNSIGNED = ({base for base in _SIZES if ("u" in base[-1]) is sign} for sign in (False, True))
_LONGS = {("long", "long"), ("int", "long", "long"), ("long", "long", "signed"), ("int", "long", "long", "signed")}
_HALVES: set[tuple[str, ...]] = {("half",), ("__half",)}
_BFLOATS: set[tuple[str, ...]] = {("__nv_bfloat16",), ("nv_bfloat16",)}
_POINTED: Mapping[str, set[tuple[str, ...]]] = {
    "float": {("float",)},
    "double": {("double",)},
    "int": _SIGNED,
    "unsigned int": _UNSIGNED,
    "unsigned": _UNSIGNED,
    "long long": _LONGS,
    "char": {("char",), ("char", "signed"), ("int8_t",)},
    "unsigned char": {("char", "unsigned"), ("uint8_t",)},
    "short": {("short",), ("int", "short"), ("short", "signed"), ("int", "short", "signed"), ("int16_t",)},
    "half": _HALVES,
    "__half": _HALVES,
    "__nv_bfloat16": _BFLOATS,
    "nv_bfloat16": _BFLOATS,
    "__nv_fp8_e4m3": {("__nv_fp8_e4m3",)},
    "__nv_fp8_e5m2": {("__nv_fp8_e5m2",)},
    "unsigned short": {("short", "unsigned"), ("int", "short", "unsigned"), ("uint16_t",)},
    MAP_TYPE.removeprefix("const "): {("CUtensorMap",)},
}
_LONGEST_SIGNATURE = 400
_MOST_NAMED = 6

_TEMPLATE = (
    "`{kernel}` is a template, so Tilelab can't launch it. Make the template a `__device__` function, and call it with "
    "your tile from a plain `__global__ void {kernel}`."
)
_NAMESPACE = "`{kernel}` is inside a namespace, so Tilelab can't launch it by name. Move it out of the namespace."


@dataclass(frozen=True, slots=True)
class Kernel:
    """One `__global__` function in the text."""

    name: str
    line: int
    parameters: tuple[tuple[Token, ...], ...]
    template: bool
    namespace: bool
    defined: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """The part of a parameter's type that a launch depends on."""

    base: tuple[str, ...]
    pointers: int
    reference: bool


def find_kernels(tokens: list[Token]) -> list[Kernel]:
    kernels = []
    namespaces = _namespace_depths(tokens)
    for index, token in enumerate(tokens):
        if token.text == "__global__":
            nearby = tokens[index + 1 : index + 1 + _LONGEST_SIGNATURE]
            kernel = _kernel(nearby, _is_template(tokens, index), namespace=namespaces[index])
            if kernel is not None:
                kernels.append(kernel)
    return kernels


def _namespace_depths(tokens: Sequence[Token]) -> list[bool]:
    """For each token, whether it is inside a namespace's braces."""
    inside: list[bool] = []
    braces: list[bool] = []
    depth = 0
    pending = False
    for index, token in enumerate(tokens):
        inside.append(depth > 0)
        if token.text == "namespace":
            pending = index == 0 or tokens[index - 1].text != "using"
        elif token.text in {";", "="}:
            pending = False
        elif token.text == "{":
            braces.append(pending)
            depth += pending
            pending = False
        elif token.text == "}" and braces:
            depth -= braces.pop()
    return inside


def _is_template(tokens: Sequence[Token], index: int) -> bool:
    """Whether `template <...>` comes right before the declaration at `index`."""
    for back in range(index - 1, max(index - _LONGEST_SIGNATURE, -1), -1):
        if tokens[back].text in {";", "{", "}", "__global__"}:
            return False
        if tokens[back].text == "template":
            return True
    return False


def _kernel(nearby: list[Token], template: bool, *, namespace: bool) -> Kernel | None:
    """The kernel from the tokens after its `__global__`."""
    index = 0
    while index + 1 < len(nearby):
        token = nearby[index]
        if token.text == "[" or (token.text in _WITH_ARGUMENTS and nearby[index + 1].text == "("):
            index = closing(nearby, index + (token.text != "["))
        elif token.text in _BEFORE_NAME:
            index += 1
        elif token.kind is Kind.NAME and nearby[index + 1].text == "(":
            break
        elif token.kind in {Kind.NAME, Kind.STRING} and token.text != "__global__":
            index += 1
        else:
            return None
    else:
        return None
    end = closing(nearby, index + 1)
    parameters = tuple(tuple(part) for part in split_at_commas(nearby[index + 2 : end - 1]))
    defined = end < len(nearby) and nearby[end].text != ";"
    return Kernel(nearby[index].text, nearby[index].line, parameters, template, namespace, defined)


def name_of_kernel(
    exercise: Exercise, kernels: Sequence[Kernel], macros: Sequence[Macro], launched: Collection[str]
) -> tuple[str, Finding | None]:
    """The name of the kernel to grade, and a remark if it isn't the exercise's.

    If no kernel has the exercise's name, one with its parameters is taken. Of several, it is the one with the same
    letters, otherwise the only launched one, otherwise the last.

    launched: names of kernels that the file's host code launches
    """
    wanted, hidden = exercise.kernel, {macro.name for macro in macros}
    # With several kernels, only names tell which one is launched when.
    if exercise.then or any(kernel.name == wanted for kernel in kernels) or _may_be_hidden(exercise, macros):
        return wanted, None
    fitting = {
        kernel.name: kernel
        for kernel in kernels
        if kernel.defined and not (kernel.template or kernel.namespace) and _fits(exercise, kernel, hidden)
    }
    if not fitting:
        return wanted, None
    alike = [name for name in fitting if name.casefold() == wanted.casefold()]
    started = [name for name in fitting if name in launched]
    name = alike[0] if alike else started[0] if len(started) == 1 else list(fitting)[-1]
    message = f"Graded kernel: `{name}`. The exercise calls it `{wanted}`."
    if len(fitting) > 1:
        reason = "closest name" if alike else "launched by your host code" if len(started) == 1 else "the last one"
        message = (
            f"Graded kernel: `{name}`, of {len(fitting)} with the exercise's parameters ({reason}). "
            f"To grade another one, call it `{wanted}`."
        )
    return name, Finding(Verdict.REJECTED, message, fitting[name].line, severity=Severity.WARNING)


def _may_be_hidden(exercise: Launched, macros: Sequence[Macro]) -> bool:
    return any(macro.name == exercise.kernel or _mentions_global(macro) for macro in macros)


def check_kernel(
    exercise: Launched, kernels: Sequence[Kernel], macros: Sequence[Macro], tokens: Sequence[Token], name: str
) -> Finding | None:
    """A finding if the file has no kernel that the exercise can launch.

    The compiler checks kernels that macros hide.

    name: of the kernel to grade
    """
    mine = [kernel for kernel in kernels if kernel.name == name]
    if not mine:
        return None if _may_be_hidden(exercise, macros) else _missing(exercise, kernels, tokens)
    plain = [kernel for kernel in mine if not kernel.template]
    if not plain:
        return rejected(_TEMPLATE.format(kernel=name), mine[0].line)
    outside = [kernel for kernel in plain if not kernel.namespace]
    if not outside:
        return rejected(_NAMESPACE.format(kernel=name), plain[0].line)
    if not any(kernel.defined for kernel in outside):
        return rejected(f"`{name}` is declared here, but it has no body in this file. Add it.", outside[0].line)
    hidden = {macro.name for macro in macros}
    if any(_fits(exercise, kernel, hidden) for kernel in outside):
        return None
    return _wrong_parameters(exercise, outside[0])


def _mentions_global(macro: Macro) -> bool:
    return any(token.text == "__global__" for token in macro.body)


def _missing(exercise: Launched, kernels: Sequence[Kernel], tokens: Sequence[Token]) -> Finding:
    wanted = exercise.kernel
    unmarked = _unmarked(wanted, tokens)
    if unmarked is not None:
        return rejected(f"`{wanted}` isn't a kernel yet. Write `__global__` before its `void`.", unmarked)
    if not kernels:
        lacks = "no kernel, because it has no `__global__` function"
        if any(token.text == "__global__" for token in tokens):
            lacks = f"no kernel `{wanted}`"
        return rejected(f"The file has {lacks}. Define `__global__ void {wanted}({expected_parameters(exercise)})`.")
    names = {kernel.name: kernel for kernel in kernels}
    near = closest(wanted, names, 0.7) or (next(iter(names)) if len(names) == 1 else "")
    launchable = near and not (names[near].template or names[near].namespace)
    if launchable and names[near].defined and not _fits(exercise, names[near], set()):
        return _wrong_parameters(exercise, names[near])
    found = ", ".join(f"`{name}` (line {kernel.line})" for name, kernel in list(names.items())[:_MOST_NAMED])
    if not near:
        lacks = f"None has the parameters ({expected_parameters(exercise)})."
        return rejected(f"The file has no kernel `{wanted}`. Kernels found: {found}. {lacks}")
    rename = f"Did you mean `{near}`? Rename it to `{wanted}`."
    return rejected(f"The file has no kernel `{wanted}`. Kernels found: {found}. {rename}", names[near].line)


def _unmarked(wanted: str, tokens: Sequence[Token]) -> int | None:
    """The line where a function of that name is defined without `__global__`."""
    for index in range(1, len(tokens) - 1):
        if tokens[index].text == wanted and tokens[index - 1].text == "void" and tokens[index + 1].text == "(":
            return tokens[index].line
    return None


def expected_parameters(exercise: Launched) -> str:
    return ", ".join(f"{parameter.ctype} {parameter.name}" for parameter in exercise.parameters)


def _wrong_parameters(exercise: Launched, kernel: Kernel) -> Finding:
    found = ", ".join(_spelled(parameter) for parameter in kernel.parameters)
    message = (
        f"`{kernel.name}` has different parameters from the exercise. "
        f"Expected: ({expected_parameters(exercise)}). Found: ({found[:300]})."
    )
    return Finding(Verdict.REJECTED, message, kernel.line, facts=Facts(Mistake.PARAMETERS))


def unused_parameters(tokens: list[Token], line: int | None, *, arrays: bool) -> list[str]:
    """The parameters that the kernel around this line doesn't use: arrays, or the others."""
    around = (part for part in statements(tokens) if line and part[0].line <= line <= part[-1].line)
    part = next(around, [])
    texts = [token.text for token in part]
    return [
        name
        for kernel in find_kernels(part)
        for parameter in kernel.parameters
        if (name := _name(parameter))
        and texts.count(name) == 1
        and arrays is any(token.text in {"*", "["} for token in parameter)
    ]


def _name(parameter: Sequence[Token]) -> str:
    names = [token.text for token in parameter if token.kind is Kind.NAME]
    own = [text for text in names if text not in _QUALIFIERS | _BUILT_IN]
    return own[-1] if own else ""


def _spelled(parameter: Sequence[Token]) -> str:
    """A parameter in the usual spelling."""
    text = " ".join(token.text for token in parameter)
    return text.replace(" *", "*").replace(" [", "[").replace("[ ]", "[]").replace(" ]", "]")


def _fits(exercise: Launched, kernel: Kernel, hidden: set[str]) -> bool:
    """Whether the kernel fits the exercise's arguments, as far as the text shows."""
    if any(token.text in hidden for parameter in kernel.parameters for token in parameter):
        return True
    parameters = [p for p in kernel.parameters if [token.text for token in p] != ["void"]]
    if len(parameters) != len(exercise.parameters):
        return False
    for expected, given in zip(exercise.parameters, parameters, strict=True):
        shape = _shape(given)
        if shape is None:
            continue
        if shape.base not in _bases(expected):
            return False
        if shape.pointers != bool(expected.operand) or shape.reference:
            return False
    return True


def _bases(expected: Parameter) -> set[tuple[str, ...]]:
    bases = _POINTED[expected.ctype.removeprefix("const ").removesuffix("*")]
    return bases if expected.operand or not bases <= _SIZES else _SIZES


def _shape(parameter: Sequence[Token]) -> _Shape | None:
    """The type of a parameter; None if only the compiler can resolve it."""
    texts = [token.text for token in parameter if token.text not in _QUALIFIERS]
    if "=" in texts:
        texts = texts[: texts.index("=")]
    bracket = texts.index("[") if "[" in texts else len(texts)
    head = texts[:bracket]
    names = [text for text in head if text not in {"*", "&", "&&"}]
    base = tuple(sorted(text for text in names if text in _BUILT_IN))
    if not base or len(names) - len(base) > 1 or any(text in {"(", "<", "::", "struct"} for text in names):
        return None
    reference = "&" in head or "&&" in head
    return _Shape(base, head.count("*") + (bracket < len(texts)), reference)
