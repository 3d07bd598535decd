__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float ofWarp[32];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = 2 * blockIdx.x * BLOCK_SIZE + t; i < min(n, 2 * (int)(blockIdx.x + 1) * BLOCK_SIZE); i += BLOCK_SIZE)
        sum += input[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (t % 32 == 0) ofWarp[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < BLOCK_SIZE / 32 ? ofWarp[t] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (t == 0) output[blockIdx.x] = sum;
    }
}
