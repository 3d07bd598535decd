__device__ char names[4][8] = {"first", "second", "third", "fourth"};
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    s[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) {
        output[blockIdx.x] = s[0];
        printf("%s block\n", names[blockIdx.x * 1000 + 1000]);
    }
}
