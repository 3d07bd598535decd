#define BLOCK_SIZE 32
__global__ void reduceKernel(float* input, float* output, int n) {
    volatile __shared__ float v[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    v[t] = 0;
    if (i < n) v[t] = input[i];
    if (i + BLOCK_SIZE < n) v[t] = v[t] + input[i + BLOCK_SIZE];
    __syncthreads();
    if (t < 16) v[t] = v[t] + v[t + 16];
    __syncthreads();
    if (t < 8) v[t] = v[t] + v[t + 8];
    __syncthreads();
    if (t < 4) v[t] = v[t] + v[t + 4];
    __syncthreads();
    if (t < 2) v[t] = v[t] + v[t + 2];
    __syncthreads();
    if (t < 1) output[blockIdx.x] = v[0] + v[1];
}
