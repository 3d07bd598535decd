#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[BLOCK_SIZE];
    auto quad = cg::tiled_partition<4>(cg::this_thread_block());
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    float v = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    s[t] = v;
    quad.sync();
    if (quad.thread_rank() == 0) s[t] = s[t] + s[t + 1] + s[t + 2] + s[t + 3];
    __syncthreads();
    if (t == 0) {
        float all = 0;
        for (int q = 0; q < BLOCK_SIZE; q += 4) all += s[q];
        output[blockIdx.x] = all;
    }
}
