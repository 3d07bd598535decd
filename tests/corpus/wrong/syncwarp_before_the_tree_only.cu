__device__ float tree[2048][32];
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    s[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    __syncthreads();
    if (t < 32) {
        volatile float* w = tree[blockIdx.x];
        float v = 0;
        for (int k = t; k < BLOCK_SIZE; k += 32) v += s[k];
        w[t] = v;
        __syncwarp();
        for (int step = 16; step > 0; step /= 2)
            if (t < step) {
                v += w[t + step];
                w[t] = v;
            }
        if (t == 0) output[blockIdx.x] = v;
    }
}
