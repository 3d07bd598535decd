"""The editor's table of built-in words."""

from __future__ import annotations

import re
from pathlib import Path

from kernels.compile import nvrtc, prelude
from kernels.compile.compilation import DEFAULT_ARCH, FILE, options_for

TABLE = Path(__file__).parents[3] / "server" / "web" / "client" / "cuda-words.ts"


def test_the_compiler_knows_each_word():
    rows = re.findall(r'^  \["(\w+)[^"]*", "([^"]+)"\],$', TABLE.read_text(), re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(rows) > 60
    assert len(set(names)) == len(names)
    assert [text for _, text in rows if not text.endswith(".")] == []
    used = "".join(f"a = ({name});\n" for name in names if not name.endswith("__"))
    text = f"__global__ void k(int a) {{\n{used}}}"
    options = options_for(DEFAULT_ARCH, {}, fmad=True)
    log = nvrtc.run(FILE, text, options, {prelude.NAME: prelude.TEXT}, []).log
    assert re.findall(r'identifier "(\w+)" is undefined', log) == []
