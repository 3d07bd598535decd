__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ unsigned long long last[1024];
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long old = atomicExch(&last[threadIdx.x], (unsigned long long)values[i] << 32 | 1);
        if (i != first && (unsigned int)old == 0) continue;
        atomicAdd(&counts[values[i]], (unsigned int)old);
    }
}
