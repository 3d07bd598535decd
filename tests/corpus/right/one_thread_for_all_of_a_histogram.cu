// One thread counts everything, without atomics.

__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    if (blockIdx.x * blockDim.x + threadIdx.x != 0) return;
    for (int i = 0; i < n; ++i)
        counts[values[i]] += 1;
}
