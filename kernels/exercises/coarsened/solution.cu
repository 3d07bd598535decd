// Tiled matrix multiplication with thread coarsening: a block computes COARSE_FACTOR neighbouring tiles of P.
//
// Width is a multiple of TILE_WIDTH * COARSE_FACTOR. The block loads a tile of M once per phase and uses it for all its
// tiles of P. Without coarsening, COARSE_FACTOR blocks would each load it.

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

    float Pvalue[COARSE_FACTOR];
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        Pvalue[c] = 0.0f;
    }

    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];

        for (int c = 0; c < COARSE_FACTOR; ++c) {
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + colStart + c * TILE_WIDTH];
            __syncthreads();  // both tiles are complete; Mds was loaded before the first iteration

            for (int k = 0; k < TILE_WIDTH; ++k) {
                Pvalue[c] += Mds[ty][k] * Nds[k][tx];
            }
            __syncthreads();  // Nds is free for the next iteration; after the last one, so is Mds
        }
    }

    for (int c = 0; c < COARSE_FACTOR; ++c) {
        P[Row * Width + colStart + c * TILE_WIDTH] = Pvalue[c];
    }
}
