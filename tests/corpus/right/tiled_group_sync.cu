#include <cooperative_groups.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = (Row < Width && k0 + tx < Width) ? M[Row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        block.sync();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        block.sync();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
