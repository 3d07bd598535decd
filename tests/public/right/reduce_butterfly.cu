#define BLOCK_SIZE 256
#define WARPS (BLOCK_SIZE / 32)
__device__ float all_sum(float x) {
#pragma unroll
    for (int mask = 16; mask; mask >>= 1) x += __shfl_xor_sync(~0u, x, mask, 32);
    return x;
}
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float of_warp[WARPS];
    const unsigned t = threadIdx.x, at = blockIdx.x * 2 * BLOCK_SIZE + 2 * t;
    float x = 0;
    if (at < n) x = input[at];
    if (at + 1 < n) x += input[at + 1];
    x = all_sum(x);
    if ((t & 31) == 0) of_warp[t >> 5] = x;
    __syncthreads();
    if (t < 32) {
        x = all_sum(t < WARPS ? of_warp[t] : 0.0f);
        if (!t) output[blockIdx.x] = x;
    }
}
