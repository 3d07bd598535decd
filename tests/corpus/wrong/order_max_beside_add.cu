__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ int down[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) down[bin] = -1;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 32) for (int bin = threadIdx.x; bin < bins; bin += 32) atomicMax(&down[bin], 0);
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&down[values[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], (unsigned int)down[bin]);
}
