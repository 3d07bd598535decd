#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ volatile float row[16][16];
    auto sixteen = cg::tiled_partition<16>(cg::this_thread_block());
    auto four = cg::tiled_partition<4>(sixteen);
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 16) {
        row[threadIdx.y][threadIdx.x] = r < Width && k0 + threadIdx.x < Width ? M[r * Width + k0 + threadIdx.x] : 0;
        four.sync();
        for (int k = 0; k < 16 && k0 + k < Width; ++k)
            if (c < Width) sum += row[threadIdx.y][k] * N[(k0 + k) * Width + c];
        sixteen.sync();
    }
    if (r < Width && c < Width) P[r * Width + c] = sum;
}
