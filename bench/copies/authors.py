"""Write tiled matrix multiplications as independent students would: one algorithm, small choices of their own.

A seed decides every choice. Frequent choices are frequent here too, so two authors may agree by chance. All kernels are
correct for every `Width`.
"""

from __future__ import annotations

import random
from typing import TypeVar

from bench.copies.layout import Layout, laid_out

_T = TypeVar("_T")

_NAMES = {
    "tx": ("tx", "threadX", "tidx", "localCol", "lx"), "ty": ("ty", "threadY", "tidy", "localRow", "ly"),
    "bx": ("bx", "blockX", "bidx"), "by": ("by", "blockY", "bidy"),
    "row": ("Row", "row", "i", "globalRow", "y"), "col": ("Col", "col", "j", "globalCol", "x"),
    "sm": ("Mds", "subTileM", "tileM", "As", "sM"), "sn": ("Nds", "subTileN", "tileN", "Bs", "sN"),
    "acc": ("Pvalue", "sum", "acc", "value", "result"), "ph": ("ph", "phase", "m", "t", "p"),
    "k": ("k", "k", "kk", "e"), "count": ("phases", "numTiles", "numPhases", "tiles", "steps"),
    "mc": ("mCol", "aCol", "colM"), "nr": ("nRow", "bRow", "rowN"),
}  # fmt: skip
_COMMENTS = {
    "top": ("Tiled matrix multiplication", "Homework 3", "One block computes one tile of P", "P = M * N"),
    "index": ("compute row and column", "which element this thread computes", "global position", "indices"),
    "load": ("load both tiles", "bring the tiles into shared memory", "pad with zeros", "check the bounds first"),
    "sync": ("wait for all loads", "the tile is complete now", "sync before use", "barrier"),
    "inner": ("partial dot product", "multiply the tiles", "accumulate", "work on this phase"),
    "store": ("write the result", "only threads inside store", "guard the output", "store to global memory"),
}  # fmt: skip
_LAYOUTS = [
    Layout(indent, own_line, spaced, star_left)
    for indent in ("    ", "    ", "  ", "\t")
    for own_line in (False, False, True)
    for spaced in (True, True, False)
    for star_left in (True, False)
]


def kernel(seed: int, *, starter: bool = False) -> str:
    """The source of one author. starter: whether the author only completes the exercise's starter."""
    return _Author(seed, starter).source()


class _Author:
    """Draws each choice once, and keeps to it in the whole file."""

    tx: str
    ty: str
    bx: str
    by: str
    row: str
    col: str
    sm: str
    sn: str
    acc: str
    ph: str
    k: str
    count: str
    mc: str
    nr: str

    def __init__(self, seed: int, starter: bool) -> None:
        self._draw = random.Random(f"author {seed}")
        free = not starter
        self.free = free
        # The names of an author usually go together: the course's, or another scheme.
        scheme = self._pick((0, 8), (1, 5), (None, 6)) if free else 0
        for key, words in _NAMES.items():
            setattr(self, key, self._draw.choice(words) if scheme is None else words[scheme])
        self.tile = self._pick(("TILE_WIDTH", 6), ("TILE", 2), ("BLOCK_SIZE", 2)) if free else "TILE_WIDTH"
        self.m, self.n, self.p, self.w = ("M", "N", "P", "Width")
        if free and self._chance(0.35):
            self.m, self.n, self.p, self.w = self._pick((("A", "B", "C", "n"), 4), (("d_M", "d_N", "d_P", "width"), 3))
        self.temps = not free or self._chance(0.65)
        if not self.temps:
            self.tx, self.ty = "threadIdx.x", "threadIdx.y"
        self.blocks = free and self._chance(0.45)
        self.flat = free and self._chance(0.12)
        self.commented = self._chance(0.55)
        self.count_type = self._pick(("int", 12), ("unsigned int", 2), ("size_t", 1)) if free else "int"
        self.steps_by_offset = free and self._chance(0.25)
        self.step = self._pick(("++{}", 5), ("{}++", 6), ("{} += 1", 1))
        self.zero = self._pick(("0.0f", 7), ("0", 3), ("0.f", 2), ("0.0", 2))
        self.swapped_loads = self._chance(0.15)
        self.lazy_braces = self._chance(0.4)

    def _pick(self, *options: tuple[_T, int]) -> _T:
        return self._draw.choices([value for value, _ in options], [weight for _, weight in options])[0]

    def _chance(self, share: float) -> bool:
        return self._draw.random() < share

    def source(self) -> str:
        body = [*self._tiles(), *self._indices(), *self._start(), *self._phases(), *self._store()]
        head = [*self._said("top"), *self._head()]
        qualifier = self._pick(("", 6), ("const ", 3)) if self.free else ""
        parameters = f"{qualifier}float* {self.m}, {qualifier}float* {self.n}, float* {self.p}, int {self.w}"
        text = "\n".join([*head, f"__global__ void MatrixMulKernel({parameters}) {{", *body, "}"])
        layout = self._draw.choice(_LAYOUTS) if self.free or self._chance(0.3) else Layout()
        return laid_out(text, layout)

    def _said(self, part: str) -> list[str]:
        return [f"// {self._draw.choice(_COMMENTS[part])}"] if self.commented and self._chance(0.7) else []

    def _head(self) -> list[str]:
        form = self._pick(("guarded", 5), ("define", 6), ("const", 1)) if self.free else "guarded"
        lines = [] if form == "const" else [f"#define {self.tile} 16"]
        if form == "const":
            lines = [f"const int {self.tile} = 16;"]
        return [f"#ifndef {self.tile}", *lines, "#endif"] if form == "guarded" else lines

    def _tiles(self) -> list[str]:
        size = f"[{self.tile} * {self.tile}]" if self.flat else f"[{self.tile}][{self.tile}]"
        if self.free and not self.flat and self._chance(0.07):
            size = f"[{self.tile}][{self.tile} + 1]"
        if self.free and self._chance(0.12):
            return [f"__shared__ float {self.sm}{size}, {self.sn}{size};"]
        return [f"__shared__ float {self.sm}{size};", f"__shared__ float {self.sn}{size};"]

    def _indices(self) -> list[str]:
        lines = self._said("index")
        bx, by = "blockIdx.x", "blockIdx.y"
        if self.blocks:
            lines += [f"int {self.bx} = {bx};", f"int {self.by} = {by};"]
            bx, by = self.bx, self.by
        if self.temps:
            own = [f"int {self.tx} = threadIdx.x;", f"int {self.ty} = threadIdx.y;"]
            lines += own if not self.free or self._chance(0.75) else own[::-1]
        size = self._pick((self.tile, 7), ("blockDim", 2)) if self.free else self.tile
        form = self._pick(("{b} * {s} + {t}", 8), ("{t} + {b} * {s}", 2), ("({b} * {s}) + {t}", 1))
        form = form if self.free else "{b} * {s} + {t}"
        sizes = ("blockDim.y", "blockDim.x") if size == "blockDim" else (size, size)
        own = [
            f"int {self.row} = {form.format(b=by, t=self.ty, s=sizes[0])};",
            f"int {self.col} = {form.format(b=bx, t=self.tx, s=sizes[1])};",
        ]
        return lines + (own if not self.free or self._chance(0.8) else own[::-1])

    def _start(self) -> list[str]:
        return [f"float {self.acc} = {self.zero if self.free else '0.0f'};"]

    def _phases(self) -> list[str]:
        count = self._pick(
            (f"({self.w} + {self.tile} - 1) / {self.tile}", 8), (f"({self.w} - 1) / {self.tile} + 1", 4),
            (f"ceil({self.w} / (float){self.tile})", 2), (f"ceilf((float){self.w} / {self.tile})", 1),
            (f"({self.w} + ({self.tile} - 1)) / {self.tile}", 1),
            (f"{self.w} / {self.tile} + ({self.w} % {self.tile} != 0)", 1),
        )  # fmt: skip
        ph, lines = self.ph, []
        if self.steps_by_offset:
            head, end = f"for (int {ph} = 0; {ph} < {self.w}; {ph} += {self.tile}) {{", "}"
        else:
            if self._chance(0.4):
                name = self.count
                lines = [f"{self.count_type if self.free else 'int'} {name} = {count};"]
                count = name
            head, end = f"for (int {ph} = 0; {ph} < {count}; {self.step.format(ph)}) {{", "}"
            if self._chance(0.05):
                lines.append(f"int {ph} = 0;")
                head, end = f"while ({ph} < {count}) {{", f"{ph}++; }}"
        sync = "__syncthreads();"
        inner = [
            *self._said("load"),
            *self._loads(),
            *self._said("sync"),
            sync,
            *self._said("inner"),
            *self._inner(),
            sync,
        ]
        return [*lines, head, *inner, end]

    def _cell(self, array: str, i: str, j: str) -> str:
        return f"{array}[{i} * {self.tile} + {j}]" if self.flat else f"{array}[{i}][{j}]"

    def _loads(self) -> list[str]:
        offset = self.ph if self.steps_by_offset else f"{self.ph} * {self.tile}"
        mc, nr = (self._pick((f"{offset} + {self.tx}", 8), (f"{self.tx} + {offset}", 2)), f"{offset} + {self.ty}")
        lines = []
        if self._chance(0.35):
            lines = [f"int {self.mc} = {mc};", f"int {self.nr} = {nr};"]
            mc, nr = self.mc, self.nr
        many = " " in nr
        at_n = f"({nr})" if many else nr
        form = self._pick(("{n}[{nr} * {w} + {c}]", 8), ("{n}[{c} + {nr} * {w}]", 1), ("{n}[{w} * {nr} + {c}]", 1))
        load_n = form.format(n=self.n, nr=at_n, w=self.w, c=self.col)
        form = self._pick(
            ("{m}[{r} * {w} + {mc}]", 8), ("{m}[{r} * {w} + ({mc})]", 2 if many else 0), ("{m}[{w} * {r} + {mc}]", 1)
        )
        load_m = form.format(m=self.m, r=self.row, w=self.w, mc=mc)
        strict = self._chance(0.12)
        flipped = self._chance(0.2)
        guards = [self._guard(self.row, mc, strict=strict), self._guard(nr, self.col, strict=strict, flipped=flipped)]
        cells = [self._cell(self.sm, self.ty, self.tx), self._cell(self.sn, self.ty, self.tx)]
        loads = [load_m, load_n]
        kind = self._pick(("if", 9), ("ternary", 7), ("clear", 3), ("outside", 1), ("select", 1))
        groups = [self._load(kind, *each) for each in zip(cells, guards, loads, strict=True)]
        if self.swapped_loads:
            groups.reverse()
        return lines + [line for group in groups for line in group]

    def _guard(self, i: str, j: str, *, strict: bool, flipped: bool = False) -> str:
        parts = [f"{each} <= {self.w} - 1" if strict else f"{each} < {self.w}" for each in (i, j)]
        if flipped:
            parts.reverse()
        return self._pick((" && ".join(parts), 6), (f"({parts[0]}) && ({parts[1]})", 2))

    def _load(self, kind: str, cell: str, guard: str, load: str) -> list[str]:
        zero = self.zero
        if kind == "ternary":
            wrapped = f"({guard})" if self._chance(0.7) else guard
            return [f"{cell} = {wrapped} ? {load} : {zero};"]
        if kind == "clear":
            return [f"{cell} = {zero};", *self._braced(f"if ({guard})", f"{cell} = {load};")]
        if kind == "outside":
            return [*self._braced(f"if (!({guard}))", f"{cell} = {zero};"), *self._braced("else", f"{cell} = {load};")]
        if kind == "select":
            name = f"in_{cell.partition('[')[0]}"
            return [f"bool {name} = {guard};", f"{cell} = {name} ? {load} : {zero};"]
        return [*self._braced(f"if ({guard})", f"{cell} = {load};"), *self._braced("else", f"{cell} = {zero};")]

    def _braced(self, head: str, statement: str) -> list[str]:
        return [head, statement] if self.lazy_braces else [f"{head} {{", statement, "}"]

    def _inner(self) -> list[str]:
        k = self.k
        first, second = self._cell(self.sm, self.ty, k), self._cell(self.sn, k, self.tx)
        add = self._pick(
            (f"{self.acc} += {first} * {second};", 12), (f"{self.acc} = {self.acc} + {first} * {second};", 1),
            (f"{self.acc} = fmaf({first}, {second}, {self.acc});", 1), (f"{self.acc} += {second} * {first};", 1),
        )  # fmt: skip
        unroll = ["#pragma unroll"] if self._chance(0.12) else []
        return [*unroll, *self._braced(f"for (int {k} = 0; {k} < {self.tile}; {self.step.format(k)})", add)]

    def _store(self) -> list[str]:
        guard = self._guard(self.row, self.col, strict=False, flipped=self._chance(0.15))
        index = self._pick(
            (f"{self.row} * {self.w} + {self.col}", 9),
            (f"{self.col} + {self.row} * {self.w}", 1),
            (f"({self.row} * {self.w}) + {self.col}", 1),
        )
        store = f"{self.p}[{index}] = {self.acc};"
        form = self._pick(("if", 12), ("nested", 1), ("return", 1))
        said = self._said("store")
        if form == "return":
            return [*said, *self._braced(f"if ({self.row} >= {self.w} || {self.col} >= {self.w})", "return;"), store]
        if form == "nested":
            return [*said, f"if ({self.row} < {self.w}) {{", *self._braced(f"if ({self.col} < {self.w})", store), "}"]
        return [*said, *self._braced(f"if ({guard})", store)]
