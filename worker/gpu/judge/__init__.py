"""The judge on a device, which makes the inputs and checks the outputs there."""
