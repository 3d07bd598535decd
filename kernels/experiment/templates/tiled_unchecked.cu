// The tiled matrix product without boundary checks, for a Width that is a multiple of TILE_WIDTH.
//
// Every thread of every block has an element of P. Every cell of a tile has an element of M or N.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int column = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        Mds[ty][tx] = M[row * Width + start + tx];
        Nds[ty][tx] = N[(start + ty) * Width + column];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    P[row * Width + column] = sum;
}
