__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    s[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    __syncthreads();
    for (int stride = BLOCK_SIZE / 2; stride >= 32; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t < 32) {
        float v = s[t];
        for (int step = 16; step > 0; step /= 2) {
            v += t < step ? s[t + step] : 0.0f;
            __syncwarp();
            s[t] = v;
            __syncwarp();
        }
        if (t == 0) output[blockIdx.x] = v;
    }
}
