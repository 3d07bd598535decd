__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[32];
    unsigned int lane, warps;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (warps == 0) return;
    if (t < 32) sums[t] = 0;
    __syncthreads();
    float sum = (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = sums[lane];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
        if (lane == 0) output[blockIdx.x] = sum;
    }
}
