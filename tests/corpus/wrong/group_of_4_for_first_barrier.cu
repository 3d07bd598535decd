#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float B[TILE_WIDTH][TILE_WIDTH];
    cg::thread_block block = cg::this_thread_block();
    auto four = cg::tiled_partition<4>(block);
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        four.sync();
        for (int k = 0; k < TILE_WIDTH; ++k)
            v += (r < Width && k0 + k < Width ? M[r * Width + k0 + k] : 0.0f) * B[k][tx];
        block.sync();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
