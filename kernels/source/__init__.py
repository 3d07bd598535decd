"""A submission's text, read before anything is compiled."""

from __future__ import annotations

from kernels.source.source_file import HEADERS, LARGEST_SOURCE, HeaderKind, Source, header_text, read_source

__all__ = [
    "HEADERS",
    "LARGEST_SOURCE",
    "HeaderKind",
    "Source",
    "header_text",
    "read_source",
]
