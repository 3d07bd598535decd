__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAnd(&own[bin], 0u);
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], own[bin]);
}
