"""Pictures of measured and modelled numbers, as SVG."""
