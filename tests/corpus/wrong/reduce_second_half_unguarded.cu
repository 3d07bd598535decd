#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float partialSum[2 * BLOCK_SIZE];

    int t = threadIdx.x;
    int start = 2 * blockIdx.x * BLOCK_SIZE;
    partialSum[t] = start + t < n ? input[start + t] : 0.0f;
    partialSum[BLOCK_SIZE + t] = start + t < n ? input[start + BLOCK_SIZE + t] : 0.0f;

    for (int stride = blockDim.x; stride > 1; stride /= 2) {
        __syncthreads();
        if (t < stride) {
            partialSum[t] += partialSum[t + stride];
        }
    }

    // two sums are left, which thread 0 and thread 1 have just stored
    __syncthreads();
    if (t == 0) {
        output[blockIdx.x] = partialSum[0] + partialSum[1];
    }
}
