//!tilelab block=(BLOCK_SIZE)
__device__ unsigned int bins[2048][8];
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    s[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    if (t < 32) {
        atomicAdd(&bins[blockIdx.x][(int)s[t] & 7], 1u);
        unsigned int count = bins[blockIdx.x][t & 7];
        if (count > 1u << 30) s[t] = 0;
    }
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
