#include <iostream>
#include <math.h>
#include <sys/time.h>

#define TILE_WIDTH 2

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width){
	__shared__ float tM[TILE_WIDTH][TILE_WIDTH];
	__shared__ float tN[TILE_WIDTH][TILE_WIDTH];

	int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
	int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
	float Pvalue = 0;
	for (int m = 0; m < Width/TILE_WIDTH; ++m) {
		tM[threadIdx.y][threadIdx.x] = M[Row*Width + m*TILE_WIDTH+threadIdx.x];
		tN[threadIdx.y][threadIdx.x] = N[(m*TILE_WIDTH+threadIdx.y)*Width+Col];
		__syncthreads();
		for (int k = 0; k < TILE_WIDTH; ++k){
			Pvalue += tM[threadIdx.y][k] * tN[k][threadIdx.x];
		}
		__syncthreads();
	}
	P[Row*Width+Col]=Pvalue;
}
