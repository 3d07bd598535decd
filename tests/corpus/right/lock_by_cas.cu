__device__ int lock;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0);
        __threadfence();
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) ((volatile unsigned int*)counts)[bin] += own[bin];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&lock, 0);
    }
}
