"""Judges and measures kernels on a GPU.

Only the runner process, an isolated child, touches the GPU. `worker.contract.measure_work` defines its requests.
"""
