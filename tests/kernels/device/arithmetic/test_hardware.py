"""Every known opcode beside a GPU: equal to the bit, or inside its bound where PTX allows an error."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.device.arithmetic import operation
from tests.kernels.device.arithmetic import hardware, opcodes
from tests.kernels.device.arithmetic.patterns import arrays, differences, run

pytestmark = pytest.mark.gpu


# One test for all of them, as each is set up on every machine, also on those without a GPU.
def test_every_opcode_that_promises_bits_equals_the_gpu():
    unequal = {}
    tried = 0
    for opcode in opcodes.known():
        found = operation(opcode)
        assert found is not None
        if opcode.startswith("lop3") or found.approximate:  # one takes a table, the other promises only a bound
            continue
        operands = [arrays(name, 12 * 1024, 1, number)[0] for number, name in enumerate(found.sources)]
        if different := differences(run(opcode, *operands), hardware.run(opcode, *operands)):
            unequal[opcode] = different
        tried += 1
    assert tried > 1000
    assert not unequal, "opcodes with the number of operands for which they differ"


@pytest.mark.parametrize("table", [0x00, 0x01, 0x2D, 0x80, 0x96, 0xCA, 0xE8, 0xFF])
def test_truth_tables_equal_the_gpu(table):
    operands = arrays("b32", 12 * 1024, 3)
    immediate = np.full((1, 1), table, np.uint32)
    wanted = hardware.run("lop3.b32", *operands, immediate=table)
    assert differences(run("lop3.b32", *operands, immediate), wanted) == 0
