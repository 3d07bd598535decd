// Tiled matrix multiplication, P = M * N, for square matrices whose Width is a multiple of TILE_WIDTH.
//
// A block computes one TILE_WIDTH x TILE_WIDTH tile of P. In each phase, it loads a tile of M and a tile of N into
// shared memory. Each thread loads one element of each. From there, every element is used TILE_WIDTH times.

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
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();  // the tiles are complete before any thread reads them

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();  // all threads have finished reading before the next phase overwrites the tiles
    }
    P[Row * Width + Col] = Pvalue;
}
