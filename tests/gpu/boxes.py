"""Compares copies with tensor maps (TMA) with this machine's GPU, byte by byte.

`python -m tests.gpu.boxes --copies 1000`: random boxes of 1 to 5 dimensions, of all types, swizzles and interleaves,
partly outside of their tensors. Then reductions, and the correct kernels of the tests. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from kernels.launch import Launch
from tests.gpu.driver import GPU, GPUError
from tests.kernels.device import kernels
from tests.kernels.device.boxes import BoxCopy, Contents, compiled, copies
from tests.kernels.device.kernels import Story, triple
from tests.kernels.device.test_tensor_copies import REDUCING, REDUCTIONS, RIGHT, reduced, reduction


def on_gpu(gpu: GPU, copy: BoxCopy) -> Contents:
    made = compiled(len(copy.map.box), load=copy.load, arch=gpu.architecture)
    with gpu.load(made.cubin, made.entry) as kernel:
        found = kernel.run(copy.launch, copy.arguments, copy.arrays, {}, {})
    return found["tensor"], found["tile"]


def differs(gpu: GPU, copy: BoxCopy) -> bool:
    """Whether a byte differs from the CPU device's."""
    pairs = zip(copy.on_cpu(), on_gpu(gpu, copy), strict=True)
    return any(not np.array_equal(mine, theirs) for mine, theirs in pairs)


def wrong_reductions(gpu: GPU) -> Iterator[str]:
    for c_type, element, what in REDUCTIONS:
        text, arrays, arguments = reduction(c_type, element, what)
        made = kernels.compiled(text, gpu.architecture)
        with gpu.load(made.cubin, made.entry) as kernel:
            found = kernel.run(REDUCING, arguments, arrays, {}, {})["M"]
        if found.tolist() != reduced(element, what).tolist():
            yield f"{what} of {element}"


def wrong_stories(gpu: GPU) -> Iterator[str]:
    """The correct kernels of the tests whose results differ, or that fail."""
    for story in RIGHT:
        try:
            if not story_holds(gpu, story):
                yield story.name
        except GPUError as error:
            yield f"{story.name}: {error}"
            return  # nothing else runs on this GPU any more


def story_holds(gpu: GPU, story: Story) -> bool:
    options = story.launch
    made = kernels.compiled(story.text, gpu.architecture)
    arrays = {"M": np.arange(options["values"], dtype=np.float32), "P": np.full(options["n"], np.nan, np.float32)}
    grid, block, cluster = (triple(options.get(each, 1)) for each in ("grid", "block", "cluster"))
    launch = Launch(grid, block, options.get("shared", 0), cluster)
    with gpu.load(made.cubin, made.entry) as kernel:
        found = kernel.run(launch, ("M", "P", options["n"], *options["maps"]), arrays, {}, {})
    return not isinstance(story.wanted, list) or found["P"].tolist() == story.wanted


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.boxes", description=__doc__)
    parser.add_argument("--copies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with GPU() as gpu:
        bad = [copy for copy in copies(asked.copies, asked.seed) if differs(gpu, copy)]
        print(f"{asked.copies:,} copies, {len(bad)} differ", *bad[:5], sep="\n", flush=True)
        reductions, stories = list(wrong_reductions(gpu)), list(wrong_stories(gpu))
    print(f"{len(REDUCTIONS)} reductions, {len(reductions)} differ", *reductions, sep="\n")
    print(f"{len(RIGHT)} kernels, {len(stories)} differ", *stories, sep="\n")
    return 1 if bad or reductions or stories else 0


if __name__ == "__main__":
    sys.exit(main())
