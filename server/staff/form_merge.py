"""Forms with settings that several people may change at once.

A form keeps what it showed. A sent form changes only the fields that its sender changed. If another person changed such
a field meanwhile, the sender decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from kernels.rendering.text_safety import cut
from server.http.forms import Form, filled

SHOWN = "shown"
"""The hidden field with a digest of each value that the form showed."""

_DIGITS = 12
_LONGEST = 80


def shown_form(values: Mapping[str, str]) -> Form:
    """A form with the saved values."""
    return filled({**values, SHOWN: _digests(values)})


def merge(form: Form, saved: Mapping[str, str]) -> bool:
    """Merge the saved values into a sent form; returns whether it conflicts with them.

    A conflict is a mistake of its field. Sending the form again then replaces the saved value. A form without the
    hidden field replaces everything.
    """
    if not form[SHOWN]:
        return False
    shown = dict(each.split(":", 1) for each in form[SHOWN].split() if ":" in each)
    conflict = False
    for name, value in saved.items():
        mine, before = _digest(form[name]), shown.get(name, _digest(""))
        if _digest(value) in {mine, before}:
            continue
        if mine == before:
            form.values[name] = value
            continue
        conflict = True
        now = f"“{cut(value, _LONGEST)}”" if value else "empty"
        form.mistake(name, f"Another person saved this page. The saved value is {now}. Save again to replace it.")
    form.values[SHOWN] = _digests(saved)
    return conflict


def _digests(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}:{_digest(value)}" for name, value in values.items())


def _digest(value: str) -> str:
    # Browsers send lines with CRLF.
    plain = value.replace("\r\n", "\n").strip()
    return hashlib.sha256(plain.encode()).hexdigest()[:_DIGITS]
