__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    float v = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    s[t] = v;
    __syncthreads();
    if (t < 32) {
        for (int k = t + 32; k < BLOCK_SIZE; k += 32) v += s[k];
        s[t] = v;
    }
    if (t < 16) {
        __syncwarp(0x0000ffff);
        v += s[t + 16];
        for (int step = 8; step > 0; step /= 2) v += __shfl_down_sync(0x0000ffff, v, step);
        if (t == 0) output[blockIdx.x] = v;
    }
}
