#include <math.h>
#define TILE_WIDTH 32

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x; int bx = blockIdx.x;
    int ty = threadIdx.y; int by = blockIdx.y;
    int Row = by*TILE_WIDTH + ty;
    int Col = bx*TILE_WIDTH + tx;
    float Pvalue = 0.0f;
    for (int ph = 0; ph < ceil(Width / (float)TILE_WIDTH); ++ph) {
        Mds[ty][tx] = 0.0f;
        Nds[ty][tx] = 0.0f;
        if ((Row < Width) && (ph*TILE_WIDTH + tx) < Width)
            Mds[ty][tx] = M[Row*Width + ph*TILE_WIDTH + tx];
        if ((ph*TILE_WIDTH + ty) < Width && Col < Width)
            Nds[ty][tx] = N[(ph*TILE_WIDTH + ty)*Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row*Width + Col] = Pvalue;
}
