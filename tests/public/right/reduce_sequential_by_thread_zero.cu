#define BLOCK_SIZE 32
__global__ void reduceKernel(float* input, float* output, int n) {
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        int from = blockIdx.x * 2 * BLOCK_SIZE, to = from + 2 * BLOCK_SIZE;
        for (int i = from; i < to && i < n; ++i) sum += input[i];
        output[blockIdx.x] = sum;
    }
}
