// lock cas float
__device__ int lock;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        for (int b = 0; b < bins; b++) counts[b] += own[b];
        __threadfence();
        atomicExch(&lock, 0);
    }
}
