#include <stdio.h>
#define TILE_WIDTH 16

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
  __shared__ float subM[TILE_WIDTH][TILE_WIDTH];
  __shared__ float subN[TILE_WIDTH][TILE_WIDTH];
  int bx = blockIdx.x; int by = blockIdx.y;
  int tx = threadIdx.x; int ty = threadIdx.y;
  int Row = by * TILE_WIDTH + ty;
  int Col = bx * TILE_WIDTH + tx;
  float Pvalue = 0;

  for (int q = 0; q < (Width-1)/TILE_WIDTH+1; ++q) {
    if (Row < Width && q*TILE_WIDTH+tx < Width)
      subM[ty][tx] = M[Row*Width + q*TILE_WIDTH+tx];
    else
      subM[ty][tx] = 0;
    if (q*TILE_WIDTH+ty < Width && Col < Width)
      subN[ty][tx] = N[(q*TILE_WIDTH+ty)*Width + Col];
    else
      subN[ty][tx] = 0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k)
      Pvalue += subM[ty][k] * subN[k][tx];
    __syncthreads();
  }
  if (Row < Width && Col < Width)
    P[Row*Width+Col] = Pvalue;
}
