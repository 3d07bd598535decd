#include <math.h>
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int p = 0; p < ceil(Width / TILE_WIDTH); ++p) {
        if (row < Width && p * TILE_WIDTH + tx < Width) Ms[ty][tx] = M[row * Width + p * TILE_WIDTH + tx];
        else Ms[ty][tx] = 0;
        if (p * TILE_WIDTH + ty < Width && col < Width) Ns[ty][tx] = N[(p * TILE_WIDTH + ty) * Width + col];
        else Ns[ty][tx] = 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
