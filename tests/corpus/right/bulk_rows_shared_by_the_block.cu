#include <cuda/barrier>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// The threads of the block share each copy of a row.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float rows[TILE_WIDTH][TILE_WIDTH];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();

    int firstRow = blockIdx.x * TILE_WIDTH;
    float sum = 0.0f;
    for (int c0 = 0; c0 < Width; c0 += TILE_WIDTH) {
        for (int r = 0; r < TILE_WIDTH; ++r)
            cuda::memcpy_async(block, rows[r], M + (firstRow + r) * Width + c0, cuda::aligned_size_t<16>(TILE_WIDTH * 4), bar);
        bar.arrive_and_wait();
        for (int c = 0; c < TILE_WIDTH; ++c) sum += rows[threadIdx.x][c];
        block.sync();
    }
    Sums[firstRow + threadIdx.x] = sum;
}
