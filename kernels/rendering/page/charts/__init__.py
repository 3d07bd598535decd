"""SVG charts of measured and modelled numbers."""
