#define BLOCK_SIZE 32

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[2 * BLOCK_SIZE];
    int t = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    sums[t] = start + t < n ? input[start + t] : 0;
    sums[blockDim.x + t] = start + (int)blockDim.x + t < n ? input[start + blockDim.x + t] : 0;
    for (int stride = blockDim.x; stride >= 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    if (t == 0) output[blockIdx.x] = sums[0];
}
