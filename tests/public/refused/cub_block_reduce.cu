#include <cub/cub.cuh>
#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int n) {
    typedef cub::BlockReduce<float, BLOCK_SIZE> Reduce;
    __shared__ typename Reduce::TempStorage store;
    int i = 2 * blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float v = (i < n ? input[i] : 0) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0);
    v = Reduce(store).Sum(v);
    if (threadIdx.x == 0) output[blockIdx.x] = v;
}
