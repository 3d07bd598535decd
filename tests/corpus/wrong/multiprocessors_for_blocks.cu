__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    unsigned int blocks;
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(blocks));
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blocks * blockDim.x)
        atomicAdd(&counts[values[i]], 1u);
}
