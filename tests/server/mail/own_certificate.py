"""A certificate that no one else trusts."""

from __future__ import annotations

import subprocess
from pathlib import Path


def own_certificate(folder: Path) -> Path:
    """Make `own.pem` with the key and the certificate of 127.0.0.1, and return the file with the certificate alone."""
    own, public = folder / "own.pem", folder / "public.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=tilelab",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", own, "-out", public],
        check=True, capture_output=True,
    )  # fmt: skip
    own.write_text(own.read_text() + public.read_text())
    return public
