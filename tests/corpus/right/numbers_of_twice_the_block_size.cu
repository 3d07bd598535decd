#define BLOCK_SIZE 64

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[128];
    int t = threadIdx.x, start = 128 * blockIdx.x;
    sums[t] = start + t < n ? input[start + t] : 0;
    sums[64 + t] = start + 64 + t < n ? input[start + 64 + t] : 0;
    for (int stride = 64; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    if (t == 0) output[blockIdx.x] = sums[0];
}
