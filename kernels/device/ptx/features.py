"""The CUDA feature behind an instruction that isn't emulated, in a student's words."""

from __future__ import annotations

import re

_FEATURES = (
    (r"(mma|wgmma\.mma_async)\.sp\b", "sparse matrices on tensor cores"),
    (r"(wmma|mma|wgmma|tcgen05|ldmatrix|stmatrix|movmatrix)\b", "this form of the tensor cores' instructions"),
    (r"cp\.[\w.]*\btensor\b.*im2col", "copies of images with a tensor map (im2col)"),
    (r"cp\.[\w.]*\btensor\b", "this form of copies with a tensor map"),
    (r"tensormap\b", "changes of a tensor map"),
    (
        r"(barrier\.cluster|mapa|getctarank|clusterlaunchcontrol)\b|.*shared::cluster",
        "this form of clusters' instructions",
    ),
    (r"cp\.(reduce\.)?async\.bulk\b|multimem\b", "this form of bulk copies"),
    (r"(tex|tld4|txq)\b", "textures"),
    (r"(suld|sust|sured|suq)\b", "surfaces"),
    (r"(alloca|stacksave|stackrestore)\b", "arrays whose size is known only at run time"),
)
_ATOMIC = re.compile(r"(?:atom|red)\b.*?\.(add|min|max|and|or|xor|exch|cas|inc|dec)\b")
_FUNCTIONS = {
    "add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor", "exch": "Exch", "cas": "CAS",
    "inc": "Inc", "dec": "Dec",
}  # fmt: skip


def feature(instruction: str) -> str | None:
    """Return the feature that an instruction belongs to, if it has a name."""
    return next((name for pattern, name in _FEATURES if re.match(pattern, instruction)), None)


def of_large_group(instruction: str) -> bool:
    """Whether an instruction asks for the memory of groups of several warps."""
    return instruction.startswith("mov %reserved_smem_offset")


def not_emulated(instruction: str) -> str:
    """Return the sentence about an instruction that isn't emulated."""
    if of_large_group(instruction):
        return (
            "The CPU device does not emulate groups of more than 32 threads (`tiled_partition<64>`). "
            "Use groups of at most 32 threads, or the whole block."
        )
    if (name := feature(instruction)) is not None:
        return f"The CPU device does not emulate {name} (`{instruction}`)."
    if match := _ATOMIC.match(instruction):
        return f"The CPU device does not emulate this form of `atomic{_FUNCTIONS[match[1]]}` (`{instruction}`)."
    return f"The CPU device does not know the instruction `{instruction}`."
