__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[64];
    unsigned int slot;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t < 64) sums[t] = 0;
    __syncthreads();
    float sum = (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (t % 32 == 0) sums[slot % 64] = sum;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) sums[0] += sums[w];
        output[blockIdx.x] = sums[0];
    }
}
