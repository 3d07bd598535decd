// grid barrier without waiting volatile
// each block: zero own part of a global scratch atomically; then all add to any part; copy is by last block
__device__ unsigned scratch[4096];
__device__ unsigned done;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ bool last;
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < bins; b += gridDim.x * blockDim.x) atomicExch(&scratch[b], 0u);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&scratch[values[i]], 1u);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        for (int b = threadIdx.x; b < bins; b += blockDim.x) counts[b] = atomicAdd(&scratch[b], 0u);
        if (threadIdx.x == 0) done = 0;
    }
}
