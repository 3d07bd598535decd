#include <cooperative_groups.h>
using namespace cooperative_groups;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    thread_block_tile<4> quad = tiled_partition<4>(this_thread_block());
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float dot = 0;
    for (int p = 0; p < Width; p += TILE_WIDTH) {
        Ms[threadIdx.y][threadIdx.x] = M[row * Width + p + threadIdx.x];
        this_thread_block().sync();
        for (int k = 0; k < TILE_WIDTH; ++k) dot += Ms[threadIdx.y][k] * N[(p + k) * Width + col];
        quad.sync();
    }
    P[row * Width + col] = dot;
}
