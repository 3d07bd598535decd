__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ unsigned long long own[1025];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicExch(&own[bin], 0ull);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i]], 1ull);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], (unsigned int)own[bin]);
}
