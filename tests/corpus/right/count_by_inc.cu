__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) {
        atomicInc(&own[values[i]], 0xffffffffu);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], own[bin]);
}
