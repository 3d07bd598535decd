// global reset by and no barrier thread0
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    if (threadIdx.x == 0) {
        for (int b = 0; b < bins; b++) atomicAnd(&counts[b], 0u);
        for (int i = blockIdx.x; i < n; i += gridDim.x) atomicAdd(&counts[values[i]], 1u);
    }
}
