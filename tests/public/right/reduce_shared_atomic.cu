#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float blockSum;
    if (threadIdx.x == 0) blockSum = 0;
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    float mine = 0;
    if (i < n) mine += input[i];
    if (i + blockDim.x < n) mine += input[i + blockDim.x];
    atomicAdd(&blockSum, mine);
    __syncthreads();
    if (threadIdx.x == 0) output[blockIdx.x] = blockSum;
}
