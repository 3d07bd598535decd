__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    unsigned int part;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(part));
    for (int i = part * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[values[i]], 1u);
}
