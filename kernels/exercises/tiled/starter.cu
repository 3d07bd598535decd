// Tiled matrix multiplication, P = M * N, for any Width.
//
// This tiled kernel is correct only if Width is a multiple of TILE_WIDTH. Make it correct for every Width. For each
// access to global memory, ask which threads would be outside the matrix.
//
// Check it with:  tilelab grade starter.cu --exercise tiled

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;

    float Pvalue = 0.0f;

    // How many phases does a Width of 17 need with tiles of 16?
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        // Which of these elements may not exist, and what should the tile hold instead?
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }

    // Does every thread have an element of P?
    P[Row * Width + Col] = Pvalue;
}
