//!tilelab block=(BLOCK_SIZE) grid=(2*ceil(n/(2*BLOCK_SIZE)))
__device__ float halves[4096];
__device__ unsigned int tickets[2048];
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t;
    s[t] = i < n ? input[i] : 0.0f;
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) s[t] += s[t + stride];
    }
    if (t == 0) {
        halves[blockIdx.x] = s[0];
        __threadfence();
        bool second = atomicInc_block(&tickets[blockIdx.x / 2], 1) == 1;
        __threadfence();
        if (second) output[blockIdx.x / 2] = s[0] + halves[blockIdx.x ^ 1];
    }
}
