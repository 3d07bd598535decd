__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    if (blockIdx.x == 0)
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicExch(&counts[bin], 0u);
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[values[i]], 1u);
}
