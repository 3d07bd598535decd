__device__ float sums[2048];
__global__ void reduceKernel(float* input, float* output, int n)
{
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    if (t == 0) sums[blockIdx.x] = 0;
    __syncthreads();
    float mine = 0;
    if (i < n) mine = input[i];
    if (i + BLOCK_SIZE < n) mine += input[i + BLOCK_SIZE];
    atomicAdd(&sums[blockIdx.x], mine);
    volatile float* sum = &sums[blockIdx.x];
    float seen = *sum;
    if (t == BLOCK_SIZE - 1) output[blockIdx.x] = seen;
}
