__device__ unsigned int drawn, serving;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    __shared__ unsigned int mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(&drawn, 1u);
        while (atomicAdd(&serving, 0u) != mine);
        __threadfence();
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) ((volatile unsigned int*)counts)[bin] += own[bin];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&serving, mine + 1);
    }
}
