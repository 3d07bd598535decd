from __future__ import annotations

import pytest

from kernels.compile import ptx_shape

ENTRY = "_Z1KPf"
KERNEL = f".visible .entry {ENTRY}(\n\t.param .u64 {ENTRY}_param_0\n)\n{{\n\tret;\n}}\n"


def test_one_expected_entry_is_fine():
    assert ptx_shape.objection(KERNEL, ENTRY, ()) is None


@pytest.mark.parametrize(
    "other",
    ["Other", "_Z5OtherPf", "_ZN4mine5OtherEPf", "_Z5OtherILi16EEvPf", "_ZN12_GLOBAL__N_15OtherEPf", "_ZL5OtherPf"],
)
def test_other_kernels_that_the_source_declares_are_fine(other):
    ptx = f"{KERNEL}.visible .entry {other}()\n{{\n\tret;\n}}\n"

    assert ptx_shape.objection(ptx, ENTRY, ("K", "Other")) is None
    assert ptx_shape.objection(ptx, ENTRY, ("K",)) is not None


@pytest.mark.parametrize("name", ["evil", "_Z4evilv", "_Z11evil_5Otherv", "_ZN5Other4evilEv", ""])
def test_a_name_that_only_contains_a_declared_one_is_refused(name):
    ptx = f"{KERNEL}.entry {name}()\n{{\n\tret;\n}}\n"

    assert ptx_shape.objection(ptx, ENTRY, ("Other",)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        KERNEL + KERNEL,
        KERNEL + ".entry",
        KERNEL + ".entry /* a */ evil(){}",
        KERNEL + "/* */ .entry // x\n evil(){}",
        KERNEL + ".entry\n.entry evil(){}",
        f"/* {KERNEL} */",
        f'.file 1 "{KERNEL}',
        KERNEL.replace("ret;", "ret; }"),
        KERNEL.replace("ret;", "{"),
        KERNEL.replace("ret;", ".func evil(){ ret; }"),
        KERNEL.replace("ret;", ".version 9.0"),
    ],
)
def test_what_is_not_one_well_formed_kernel(text):
    assert ptx_shape.objection(text, ENTRY, ()) is not None


@pytest.mark.parametrize("hidden", ["// .entry evil\n", "/* } .entry evil(){ */", '.file 2 "} .entry evil"\n'])
def test_what_a_comment_or_a_string_says_is_no_code(hidden):
    assert ptx_shape.objection(KERNEL.replace("ret;", hidden + "ret;"), ENTRY, ()) is None


@pytest.mark.parametrize(
    ("head", "cluster"),
    [
        (".explicitcluster\n.reqnctapercluster 2, 3, 1\n", (2, 3, 1)),
        (".reqnctapercluster 4\n", (4,)),
        (".blocksareclusters\n.reqnctapercluster 2, 1, 1\n", ()),
        ("", ()),
    ],
)
def test_the_cluster_that_a_kernel_demands(head, cluster):
    ptx = KERNEL.replace(")\n{", f")\n{head}{{") + ".entry Other()\n.reqnctapercluster 8, 1, 1\n{\n\tret;\n}\n"

    assert ptx_shape.cluster(ptx, ENTRY) == cluster
