#include <cooperative_groups.h>
namespace cg = cooperative_groups;

//!tilelab block=(16,8) grid=(Width, ceil(Width/8))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x;
    float sum = 0.0f;
    if (row < Width)
        for (int k = tile.thread_rank(); k < Width; k += tile.size())
            sum += M[row * Width + k] * N[k * Width + col];
    for (int offset = tile.size() / 2; offset > 0; offset /= 2)
        sum += tile.shfl_down(sum, offset);
    if (tile.thread_rank() == 0 && row < Width) P[row * Width + col] = sum;
}
