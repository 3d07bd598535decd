// global reset then block barrier
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicExch(&counts[b], 0u);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[values[i]], 1u);
}
