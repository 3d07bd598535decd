// A tiled matrix product with thread coarsening. A block computes COARSE_FACTOR neighbouring tiles of P, and a thread
// computes one element of each. Width is a multiple of TILE_WIDTH * COARSE_FACTOR.
//
// The tile of M is loaded once for all tiles of P. So a phase loads 1 + COARSE_FACTOR tiles instead of 2 COARSE_FACTOR.

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
    int row = blockIdx.y * TILE_WIDTH + ty;
    int column = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;

    float sums[COARSE_FACTOR] = {};
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        Mds[ty][tx] = M[row * Width + start + tx];
        for (int c = 0; c < COARSE_FACTOR; ++c) {
            Nds[ty][tx] = N[(start + ty) * Width + column + c * TILE_WIDTH];
            __syncthreads();  // both tiles are complete
            for (int k = 0; k < TILE_WIDTH; ++k) {
                sums[c] += Mds[ty][k] * Nds[k][tx];
            }
            __syncthreads();  // all threads have read them
        }
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        P[row * Width + column + c * TILE_WIDTH] = sums[c];
    }
}
