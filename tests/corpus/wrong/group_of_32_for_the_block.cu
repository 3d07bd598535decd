#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define TILE_WIDTH 8
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float2 tile[TILE_WIDTH][TILE_WIDTH];
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        tile[ty][tx] = make_float2(M[row * Width + k0 + tx], N[(k0 + ty) * Width + col]);
        warp.sync();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += tile[ty][k].x * tile[k][tx].y;
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
