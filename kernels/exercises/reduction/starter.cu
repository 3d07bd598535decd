// Sums of sections of an array, with a reduction tree and interleaved addressing.
//
// A block of BLOCK_SIZE threads sums a section of 2 * BLOCK_SIZE values. This kernel is correct. But in every
// iteration, some threads of a warp add and others don't. Choose other threads to add.
//
// Check it with:  tilelab grade starter.cu --exercise reduction

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float partialSum[BLOCK_SIZE];

    // Every thread adds two values when it loads them.
    int t = threadIdx.x;
    int i = 2 * blockIdx.x * BLOCK_SIZE + t;
    float first = i < n ? input[i] : 0.0f;
    float second = i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f;
    partialSum[t] = first + second;

    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        if (t % (2 * stride) == 0) {
            partialSum[t] += partialSum[t + stride];
        }
    }

    if (t == 0) {
        output[blockIdx.x] = partialSum[0];
    }
}
