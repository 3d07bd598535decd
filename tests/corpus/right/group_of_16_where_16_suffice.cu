#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float row[16][16];
    auto sixteen = cg::tiled_partition<16>(cg::this_thread_block());
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 16) {
        row[ty][tx] = r < Width && k0 + tx < Width ? M[r * Width + k0 + tx] : 0.0f;
        sixteen.sync();
        for (int k = 0; k < 16 && k0 + k < Width; ++k)
            if (c < Width) sum += row[ty][k] * N[(k0 + k) * Width + c];
        sixteen.sync();
    }
    if (r < Width && c < Width) P[r * Width + c] = sum;
}
