// Tiled matrix multiplication, P = M * N, where Width is a multiple of TILE_WIDTH.
//
// Replace every ____ below. Tilelab points to the first blank that is left.
//
// Check it with:  tilelab grade starter.cu --exercise tiled-square

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    // One tile of M and one tile of N, shared by the threads of a block.
    ____ float Mds[TILE_WIDTH][TILE_WIDTH];
    ____ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;

    // The element of P that this thread computes.
    int Row = ____;
    int Col = ____;

    float Pvalue = 0.0f;

    // One phase for each pair of tiles along row Row of M and column Col of N.
    for (int ph = 0; ph < ____; ++ph) {
        // Every thread loads one element of each tile.
        Mds[ty][tx] = M[____];
        Nds[ty][tx] = N[____];
        ____;  // what must have happened before any thread reads the tiles?

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += ____;
        }
        ____;  // what must have happened before the tiles are overwritten?
    }

    P[____] = Pvalue;
}
