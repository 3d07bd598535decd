"""Every known opcode beside a GPU: equal to the bit, or inside its bound where PTX allows an error."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.device.arithmetic import operation
from tests.kernels.device.arithmetic import hardware, opcodes
from tests.kernels.device.arithmetic.patterns import arrays, differences, run

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("opcode", [name for name in opcodes.known() if not name.startswith("lop3")])
def test_equals_the_gpu(opcode):
    found = operation(opcode)
    assert found is not None
    operands = [arrays(name, 12 * 1024, 1, number)[0] for number, name in enumerate(found.sources)]
    if found.approximate:
        pytest.skip("promises a bound, not bits")
    assert differences(run(opcode, *operands), hardware.run(opcode, *operands)) == 0


@pytest.mark.parametrize("table", [0x00, 0x01, 0x2D, 0x80, 0x96, 0xCA, 0xE8, 0xFF])
def test_truth_tables_equal_the_gpu(table):
    operands = arrays("b32", 12 * 1024, 3)
    immediate = np.full((1, 1), table, np.uint32)
    wanted = hardware.run("lop3.b32", *operands, immediate=table)
    assert differences(run("lop3.b32", *operands, immediate), wanted) == 0
