"""Other values for a kernel's own names."""

from __future__ import annotations

import pytest

from kernels.experiment.variant import defined, variant


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("#define T 16\n", "#define T 8\n"),
        ("  #  define T (4 * 4)  // the tile\n", "  #  define T 8  // the tile\n"),
        ("#ifndef T\n#define T 16\n#endif\n", "#ifndef T\n#define T 8\n#endif\n"),
        ("#define T \\\n  16\nint x;\n", "#define T 8\n\nint x;\n"),
        ("constexpr int T = 16;\n", "constexpr int T = 8;\n"),
        ("static const unsigned T{16}; // T = 16\n", "static const unsigned T{8}; // T = 16\n"),
        ("const int A = 2, T = 16;\n", "const int A = 2, T = 16;\n"),
        ("constexpr int T = min(16, 32), B = 4;\n", "constexpr int T = 8, B = 4;\n"),
        ("constexpr int T =\n  16;\n", "constexpr int T =\n  16;\n"),
        ("const int A = 2; int T = 16;\n", "const int A = 2; int T = 16;\n"),
        ("const int A = 2;\nfor (int T = 0; T < 4; ++T) {}\n", "const int A = 2;\nfor (int T = 0; T < 4; ++T) {}\n"),
        ("// #define T 16\n", "// #define T 16\n"),
        ("#define T(x) 16\n", "#define T(x) 16\n"),
        ("#define TT 16\n", "#define TT 16\n"),
        ("for (int T = 0; T < 4; ++T) {}\n", "for (int T = 0; T < 4; ++T) {}\n"),
    ],
)
def test_a_name_gets_its_value_and_no_line_moves(text, changed):
    assert variant(text, {"T": 8}) == changed
    assert ("T" in defined(text)) == (text != changed)
