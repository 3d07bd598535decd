#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define BLOCK_SIZE 128
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[BLOCK_SIZE / 32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int i = 2 * blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float v = (i < n ? input[i] : 0.f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.f);
    v = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0) {
        float total = 0;
        for (int w = 0; w < (int)tile.meta_group_size(); ++w) total += sums[w];
        output[blockIdx.x] = total;
    }
}
