// A matrix product on tensor cores with wmma. Each warp computes 16 x 16 elements of its block's tile.
//
// Replace every ____ below. Tilelab points to the first blank that is left.
//
// Check it with:  tilelab grade starter.cu --exercise tensor-wmma

#include <mma.h>
using namespace nvcuda;

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

#define WARPS_ACROSS (TILE_WIDTH / 16)
#define THREADS (32 * WARPS_ACROSS * WARPS_ACROSS)

__global__ void tensorProduct(const half* M, const half* N, float* P, int rows, int depth, int cols) {
    // load_matrix_sync needs addresses that are multiples of 32 bytes
    __shared__ __align__(32) half Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ __align__(32) half Ns[TILE_WIDTH][TILE_WIDTH];
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;

    // The first row and column of this warp's 16 x 16 elements, within the tile. All its threads have the same.
    int warp = ____;
    int row = ____, col = ____;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, ____> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, ____> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    ____;  // what does a sum start with?

    for (int phase = 0; phase < depth; phase += TILE_WIDTH) {
        // All threads of the block load both tiles. Cells past the edges become 0.
        for (int cell = threadIdx.x; cell < TILE_WIDTH * TILE_WIDTH; cell += THREADS) {
            int i = cell / TILE_WIDTH, j = cell % TILE_WIDTH;
            bool inM = top + i < rows && phase + j < depth;
            bool inN = phase + i < depth && left + j < cols;
            Ms[i][j] = inM ? M[(top + i) * depth + phase + j] : __float2half(0.0f);
            Ns[i][j] = inN ? N[(phase + i) * cols + left + j] : __float2half(0.0f);
        }
        ____;
        for (int k = 0; k < TILE_WIDTH; k += 16) {
            wmma::load_matrix_sync(a, ____, TILE_WIDTH);
            wmma::load_matrix_sync(b, ____, TILE_WIDTH);
            wmma::mma_sync(____);
        }
        ____;
    }
    // sizes are multiples of 16, so a warp's elements are all inside or all outside
    if (____)
        wmma::store_matrix_sync(&P[(top + row) * cols + left + col], sum, cols, wmma::mem_row_major);
}
