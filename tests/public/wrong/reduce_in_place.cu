#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int n) {
    unsigned int tid = threadIdx.x, base = 2 * blockIdx.x * blockDim.x;
    for (unsigned int stride = blockDim.x; stride > 0; stride >>= 1) {
        if (tid < stride && base + tid + stride < n) input[base + tid] += input[base + tid + stride];
        __syncthreads();
    }
    if (tid == 0) output[blockIdx.x] = input[base];
}
