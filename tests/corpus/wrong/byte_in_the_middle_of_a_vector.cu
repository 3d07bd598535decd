__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ uint4 groups[BLOCK_SIZE / 16];
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    ((unsigned char*)groups)[t] = i < n;
    uint4 all = groups[t / 16];
    s[t] = 0;
    if ((all.x | all.y | all.z | all.w) != 0) s[t] += i < n ? input[i] : 0.0f;
    if (i + BLOCK_SIZE < n) s[t] += input[i + BLOCK_SIZE];
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
