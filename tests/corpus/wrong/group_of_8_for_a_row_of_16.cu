#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH + 1];
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = M[row * Width + k0 + tx];
        group.sync();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * N[(k0 + k) * Width + col];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
