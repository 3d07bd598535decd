// Sums of sections of an array, with a reduction tree and contiguous addressing.
//
// A block of BLOCK_SIZE threads sums a section of 2 * BLOCK_SIZE values. In each iteration, the first threads add. So
// whole warps add or wait, until fewer threads add than a warp has.

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float partialSum[2 * BLOCK_SIZE];

    int t = threadIdx.x;
    int start = 2 * blockIdx.x * BLOCK_SIZE;
    partialSum[t] = start + t < n ? input[start + t] : 0.0f;
    partialSum[BLOCK_SIZE + t] = start + BLOCK_SIZE + t < n ? input[start + BLOCK_SIZE + t] : 0.0f;

    for (int stride = blockDim.x; stride > 1; stride /= 2) {
        __syncthreads();
        if (t < stride) {
            partialSum[t] += partialSum[t + stride];
        }
    }

    // two sums are left: thread 0 and thread 1 have just stored them
    __syncthreads();
    if (t == 0) {
        output[blockIdx.x] = partialSum[0] + partialSum[1];
    }
}
