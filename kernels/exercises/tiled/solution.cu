// Tiled matrix multiplication, P = M * N, for square matrices of any Width.
//
// A block computes one TILE_WIDTH x TILE_WIDTH tile of P. In each phase, it loads a tile of M and a tile of N into
// shared memory. Each thread loads one element of each. From there, every element is used TILE_WIDTH times. Cells of a
// tile outside the matrices are set to zero, so they add nothing.

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
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int ph = 0; ph < phases; ++ph) {
        int mCol = ph * TILE_WIDTH + tx;
        int nRow = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && mCol < Width) ? M[Row * Width + mCol] : 0.0f;
        Nds[ty][tx] = (nRow < Width && Col < Width) ? N[nRow * Width + Col] : 0.0f;
        __syncthreads();  // the tiles are complete before any thread reads them

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();  // all threads have finished reading before the next phase overwrites the tiles
    }

    // Threads outside the matrix reached every barrier. Only the store is not for them.
    if (Row < Width && Col < Width) {
        P[Row * Width + Col] = Pvalue;
    }
}
