from __future__ import annotations

from dataclasses import replace

from kernels.compile.compilation import DEFAULT_ARCH, Compilation, compile_source
from kernels.compile.ptx_listing import ptx_listing
from kernels.rendering.page.listing.ptx_view import ptx_view
from kernels.report import Report
from kernels.verdict import Verdict

SOURCE = """__device__ __forceinline__ float twice(float x) {
  return 2.0f * x;
}
__global__ void K(float *a) {
  __shared__ float tile[32];
  tile[threadIdx.x] = twice(a[threadIdx.x]);
  __syncthreads();
  a[threadIdx.x] = tile[31 - threadIdx.x];
}
"""


def test_each_instruction_has_its_line_also_in_an_inlined_function():
    made = compile_source(SOURCE, "K", DEFAULT_ARCH, {}, True)
    assert isinstance(made, Compilation)
    lines = ptx_listing(made.ptx, made.entry, "kernel.cu")
    at = {text.split()[0]: line for text, line in ((each.text, each.line) for each in lines)}
    assert {name: at[name] for name in ("bar.sync", "st.shared.f32", "ld.shared.f32", "st.global.f32")} == {
        "bar.sync": 7, "st.shared.f32": 6, "ld.shared.f32": 8, "st.global.f32": 8,
    }  # fmt: skip
    assert at["add.f32" if "add.f32" in at else "mul.f32" if "mul.f32" in at else "add.ftz.f32"] == 2
    assert not any(each.text.startswith((".loc", "//")) for each in lines)

    report = Report(Verdict.ACCEPTED, "", "x", "cpu", DEFAULT_ARCH, 16, ptx=lines, resources=made.resources)
    view = ptx_view(report, SOURCE)
    assert view is not None
    assert [number for number, _, amount in view.source if amount and number == 7] == [7]
    assert sum(len(group.texts) for group in view.groups) == view.count == len(lines)
    assert view.uses.endswith("None is spilled to local memory.")
    spilled = replace(made.resources, spill_store_bytes=16, spill_load_bytes=24)
    assert "24 bytes" in (ptx_view(replace(report, resources=spilled), SOURCE) or view).uses
