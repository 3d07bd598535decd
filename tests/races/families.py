"""The families of generated kernels. Each judges the kernels of some seeds twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tests.races.asynchronous_comparison import compare_asynchronous
from tests.races.cluster_comparison import compare_clusters
from tests.races.comparison import Comparison, compare_seeds
from tests.races.generator import generate, generate_open

Family = Callable[[Sequence[int]], list[Comparison]]

FAMILIES: dict[str, Family] = {
    "open": partial(compare_seeds, make=generate_open),
    "races": partial(compare_seeds, make=generate),
    "asynchronous": compare_asynchronous,
    "clusters": compare_clusters,
}
