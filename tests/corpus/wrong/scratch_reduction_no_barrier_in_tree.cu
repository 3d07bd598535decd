__device__ float work[2048][BLOCK_SIZE];
__global__ void reduceKernel(float* input, float* output, int n)
{
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    volatile float* w = work[blockIdx.x];
    w[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    __syncthreads();
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2)
        if (t < stride) {
            float other = w[t + stride];
            w[t] = w[t] + other;
        }
    if (t == 0) output[blockIdx.x] = w[0];
}
