__device__ unsigned int flags[2048][BLOCK_SIZE / 4];
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    if (t % 4 == 0) {
        unsigned int word = 0;
        for (int k = 0; k < 4; ++k) word |= (unsigned int)(i + k < n) << (8 * k);
        flags[blockIdx.x][t / 4] = word;
    }
    bool mine = ((unsigned char*)flags[blockIdx.x])[t];
    s[t] = mine && i < n ? input[i] : 0.0f;
    if (i + BLOCK_SIZE < n) s[t] += input[i + BLOCK_SIZE];
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
