__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i - (int)threadIdx.x % 32 < n; i += gridDim.x * blockDim.x) {
        unsigned int same = __match_any_sync(0xffffffff, i < n ? values[i] : -1);
        if (i < n && threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&own[values[i]], __popc(same));
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], own[bin]);
}
