__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    __shared__ int least, most;
    if (threadIdx.x == 0) { least = INT_MAX; most = INT_MIN; }
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicMin(&least, values[i]);
        atomicMax(&most, values[i]);
        atomicAdd(&own[values[i]], 1u);
    }
    __syncthreads();
    for (long long bin = (long long)least + threadIdx.x; bin <= most; bin += blockDim.x)
        atomicAdd(&counts[bin], own[bin]);
}
