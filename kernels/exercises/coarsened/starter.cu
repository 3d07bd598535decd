// Tiled matrix multiplication with thread coarsening: a block computes COARSE_FACTOR neighbouring tiles of P.
//
// Width is a multiple of TILE_WIDTH * COARSE_FACTOR. This kernel is correct but gains nothing. It computes one tile of
// P after the other, and loads every tile of M again for each. Swap the two outer loops, so that a tile of M is loaded
// once per phase. What do you have to keep for each tile of P then?
//
// Check it with:  tilelab grade starter.cu --exercise coarsened

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int colStart = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;

    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int Col = colStart + c * TILE_WIDTH;
        float Pvalue = 0.0f;

        for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
            Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
            __syncthreads();

            for (int k = 0; k < TILE_WIDTH; ++k) {
                Pvalue += Mds[ty][k] * Nds[k][tx];
            }
            __syncthreads();
        }
        P[Row * Width + Col] = Pvalue;
    }
}
