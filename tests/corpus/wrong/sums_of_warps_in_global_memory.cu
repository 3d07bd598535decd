__device__ float sums[2048][BLOCK_SIZE / 32];
__global__ void reduceKernel(float* input, float* output, int n)
{
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    float v = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
    if (t % 32 == 0) sums[blockIdx.x][t / 32] = v;
    __syncwarp();
    float all = 0;
    for (int w = 0; w < BLOCK_SIZE / 32; ++w) all += sums[blockIdx.x][w];
    if (t == 0) output[blockIdx.x] = all;
}
