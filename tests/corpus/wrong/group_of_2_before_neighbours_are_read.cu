#include <cooperative_groups.h>
namespace cg = cooperative_groups;
//!tilelab block=(32,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float part[32];
    auto pair = cg::tiled_partition<2>(cg::this_thread_block());
    int lane = threadIdx.x;
    float mine = 0;
    for (int k = lane; k < Width; k += 32) mine += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    part[lane] = mine;
    pair.sync();
    if (lane % 2 == 0) {
        float all = 0;
        for (int k = 0; k < 32; ++k) all += part[k];
        if (lane == 0) P[blockIdx.y * Width + blockIdx.x] = all;
    }
}
