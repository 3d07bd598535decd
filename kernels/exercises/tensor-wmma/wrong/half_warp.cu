// A matrix product on tensor cores with wmma. Each warp computes 16 x 16 elements of its block's tile.

#include <mma.h>
using namespace nvcuda;

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

#define WARPS_ACROSS (TILE_WIDTH / 16)
#define THREADS (32 * WARPS_ACROSS * WARPS_ACROSS)

__global__ void tensorProduct(const half* M, const half* N, float* P, int rows, int depth, int cols) {
    __shared__ __align__(32) half Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ __align__(32) half Ns[TILE_WIDTH][TILE_WIDTH];
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;
    int warp = threadIdx.x / 32;
    int row = warp / WARPS_ACROSS * 16, col = warp % WARPS_ACROSS * 16;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    for (int phase = 0; phase < depth; phase += TILE_WIDTH) {
        for (int cell = threadIdx.x; cell < TILE_WIDTH * TILE_WIDTH; cell += THREADS) {
            int i = cell / TILE_WIDTH, j = cell % TILE_WIDTH;
            bool inM = top + i < rows && phase + j < depth;
            bool inN = phase + i < depth && left + j < cols;
            Ms[i][j] = inM ? M[(top + i) * depth + phase + j] : __float2half(0.0f);
            Ns[i][j] = inN ? N[(phase + i) * cols + left + j] : __float2half(0.0f);
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k += 16) {
            wmma::load_matrix_sync(a, &Ms[row][k], TILE_WIDTH);
            wmma::load_matrix_sync(b, &Ns[k][col], TILE_WIDTH);
            if (threadIdx.x % 32 < 16) wmma::mma_sync(sum, a, b, sum);
        }
        __syncthreads();
    }
    if (top + row < rows && left + col < cols)
        wmma::store_matrix_sync(&P[(top + row) * cols + left + col], sum, cols, wmma::mem_row_major);
}
