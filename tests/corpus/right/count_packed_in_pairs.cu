__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int pair = threadIdx.x; pair < (bins + 1) / 2; pair += blockDim.x) own[pair] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] / 2], values[i] % 2 ? 65536u : 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], bin % 2 ? own[bin / 2] >> 16 : own[bin / 2] & 65535u);
}
