#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define TILE_WIDTH 8
#define COARSE_FACTOR 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH * COARSE_FACTOR];
    auto rows = cg::tiled_partition<8>(cg::this_thread_block());
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, first = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float v[COARSE_FACTOR] = {};
    for (int ph = 0; ph < Width; ph += TILE_WIDTH) {
        for (int c = 0; c < TILE_WIDTH * COARSE_FACTOR; c += TILE_WIDTH)
            Nds[ty][tx + c] = N[(ph + ty) * Width + first + c];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            for (int c = 0; c < COARSE_FACTOR; ++c)
                v[c] += M[row * Width + ph + k] * Nds[k][tx + c * TILE_WIDTH];
        rows.sync();
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) P[row * Width + first + c * TILE_WIDTH] = v[c];
}
