__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ unsigned int copies[2][1025];
    unsigned int slot;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) copies[0][bin] = copies[1][bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&copies[slot % 2][values[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], copies[0][bin] + copies[1][bin]);
}
