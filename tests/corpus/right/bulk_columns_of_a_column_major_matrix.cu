#include <cuda/barrier>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// A column of N is contiguous, so it is copied like a row. The group's threads share each copy.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ alignas(16) float rows[TILE_WIDTH][TILE_WIDTH], cols[TILE_WIDTH][TILE_WIDTH];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();

    int y0 = blockIdx.y * TILE_WIDTH, x0 = blockIdx.x * TILE_WIDTH;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        for (int i = 0; i < TILE_WIDTH; ++i) {
            auto bytes = cuda::aligned_size_t<16>(TILE_WIDTH * 4);
            cuda::memcpy_async(block, rows[i], M + (y0 + i) * Width + k0, bytes, bar);
            cuda::memcpy_async(block, cols[i], N + (x0 + i) * Width + k0, bytes, bar);
        }
        bar.arrive_and_wait();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += rows[threadIdx.y][k] * cols[threadIdx.x][k];
        block.sync();
    }
    P[(y0 + threadIdx.y) * Width + x0 + threadIdx.x] = sum;
}
