// A tiled matrix product for any Width: a block computes one tile of P.
//
// The block loads a tile of M and a tile of N into shared memory. Each of their elements is used TILE_WIDTH times.
// So global memory is read 2 N^3 / TILE_WIDTH times instead of 2 N^3 times.

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
        Mds[ty][tx] = row < Width && start + tx < Width ? M[row * Width + start + tx] : 0.0f;
        Nds[ty][tx] = start + ty < Width && column < Width ? N[(start + ty) * Width + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    if (row < Width && column < Width) {
        P[row * Width + column] = sum;
    }
}
