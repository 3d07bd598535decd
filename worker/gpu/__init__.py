"""Measures a kernel on a GPU, and judges it there once more.

Only the runner process, a confined child, ever touches the GPU; what stands between it and the rest is in
`worker.contract.measure_work`.
"""
