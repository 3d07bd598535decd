#include <cooperative_groups.h>
namespace cg = cooperative_groups;
//!tilelab block=(64,1) grid=(ceil(Width/64), Width)
__device__ float rowOf[128][2][128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    auto four = cg::tiled_partition<4>(cg::this_thread_block());
    int col = blockIdx.x * 64 + threadIdx.x;
    float* row = rowOf[blockIdx.y][blockIdx.x];
    for (int k = threadIdx.x; k < Width; k += 64) row[k] = M[blockIdx.y * Width + k];
    four.sync();
    float sum = 0;
    if (col < Width) {
        for (int k = 0; k < Width; ++k) sum += row[k] * N[k * Width + col];
        P[blockIdx.y * Width + col] = sum;
    }
}
