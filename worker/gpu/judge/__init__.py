"""The judge on a device: inputs made there, outputs checked there."""
