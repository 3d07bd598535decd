//!tilelab block=(4,8,2) grid=(ceil(Width/4), ceil(Width/16)) tile=4
#include <cooperative_groups.h>
using namespace cooperative_groups;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float left[2][8][4];
    __shared__ float right[2][4][4];
    thread_block_tile<32> warp = tiled_partition<32>(this_thread_block());
    int w = threadIdx.z, y = threadIdx.y, x = threadIdx.x;
    int row = blockIdx.y * 16 + w * 8 + y, col = blockIdx.x * 4 + x;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 4) {
        left[w][y][x] = row < Width && k0 + x < Width ? M[row * Width + k0 + x] : 0.0f;
        if (y < 4) right[w][y][x] = k0 + y < Width && col < Width ? N[(k0 + y) * Width + col] : 0.0f;
        warp.sync();
        for (int k = 0; k < 4; ++k) sum += left[w][y][k] * right[w][k][x];
        warp.sync();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
