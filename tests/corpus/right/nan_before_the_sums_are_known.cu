__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[32];
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t < 32) sums[t] = NAN;
    __syncthreads();
    float sum = (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t > 0) return;
    float all = 0;
    for (int w = 0; w < 32; ++w)
        if (!isnan(sums[w])) all += sums[w];
    output[blockIdx.x] = all;
}
