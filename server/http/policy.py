"""What a browser may do with our pages: the content security policy."""

from __future__ import annotations


def content_policy(*, frames: str = "'none'", forms: str = "'self'") -> str:
    """Only our own scripts, nothing from elsewhere: a student's text can be shown, but never run.

    frames: who may put the page into a frame; forms: where its forms may lead
    """
    return (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; "
        f"img-src 'self' data:; base-uri 'none'; form-action {forms}; frame-ancestors {frames}"
    )
