// old loop control
__device__ unsigned q[4096];
__device__ unsigned head;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    // all blocks clear the queue head first (forgotten host reset), then take items
    __shared__ unsigned k;
    if (threadIdx.x == 0) atomicExch(&head, 0u);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) k = atomicAdd(&head, blockDim.x);
        __syncthreads();
        if (k >= n) break;
        unsigned i = k + threadIdx.x;
        if (i < n) atomicAdd(&counts[values[i]], 1u);
    }
}
