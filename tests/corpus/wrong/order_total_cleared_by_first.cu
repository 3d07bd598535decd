#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    int t = threadIdx.x, i = 2 * blockIdx.x * BLOCK_SIZE + t;
    float first = i < n ? input[i] : 0.0f;
    float second = i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f;
    if (t == 0) atomicExch(&total, 0.0f);
    atomicAdd(&total, first + second);
    __syncthreads();
    if (t == 0) output[blockIdx.x] = total;
}
