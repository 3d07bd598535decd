// The sum of a section of an array, with a reduction tree and contiguous addressing.
//
// In each iteration, the first threads add. So whole warps add or wait, until fewer threads add than a warp has.

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[BLOCK_SIZE];

    int t = threadIdx.x;
    int i = 2 * blockIdx.x * BLOCK_SIZE + t;
    float first = i < n ? input[i] : 0.0f;
    float second = i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f;
    sums[t] = first + second;

    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) {
            sums[t] += sums[t + stride];
        }
    }
    if (t == 0) {
        output[blockIdx.x] = sums[0];
    }
}
