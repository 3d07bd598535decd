"""A picture as PNG. The font comes with Tilelab, so that a picture is the same on every machine."""

from __future__ import annotations

from pathlib import Path

_FONTS = Path(__file__).with_name("fonts")
_FAMILY = "Open Sans"
_ZOOM = 2


def png(picture: str) -> bytes:
    """The pixels of an SVG file, two for each of its units."""
    import resvg_py

    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture,
            zoom=_ZOOM,
            skip_system_fonts=True,
            font_files=[str(each) for each in sorted(_FONTS.glob("*.ttf"))],
            font_family=_FAMILY,
            sans_serif_family=_FAMILY,
        )
    )
