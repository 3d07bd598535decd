__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd((unsigned long long*)&counts[values[i]], 1ull);
}
