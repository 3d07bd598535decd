#include <cooperative_groups.h>
namespace cg = cooperative_groups;
//!tilelab block=(32,2) grid=(ceil(Width/2), Width)
__device__ double sums[128 * 64 * 2][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int lane = warp.thread_rank(), row = blockIdx.y, col = blockIdx.x * 2 + threadIdx.y;
    double* mine = sums[(row * 64 + blockIdx.x) * 2 + threadIdx.y];
    warp.sync();
    double part = 0;
    if (col < Width)
        for (int k = lane; k < Width; k += 32) part += M[row * Width + k] * N[k * Width + col];
    mine[lane] = part;
    if (lane == 31 && col < Width) {
        double all = 0;
        for (int k = 0; k < 32; ++k) all += mine[k];
        P[row * Width + col] = (float)all;
    }
}
