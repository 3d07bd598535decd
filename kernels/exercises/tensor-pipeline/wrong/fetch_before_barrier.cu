// A matrix product on tensor cores. While a block multiplies one pair of tiles, it copies the next ones.

#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif
#ifndef STAGES
#define STAGES 3
#endif

#define WARPS_ACROSS (TILE_WIDTH / 16)
#define CHUNK 8  // elements in the 16 bytes of a copy
#define CHUNKS (TILE_WIDTH / CHUNK)

__global__ void tensorProduct(const half* M, const half* N, float* P, int rows, int depth, int cols) {
    __shared__ __align__(32) half Ms[STAGES][TILE_WIDTH][TILE_WIDTH];
    __shared__ __align__(32) half Ns[STAGES][TILE_WIDTH][TILE_WIDTH];
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;
    int warp = threadIdx.x / 32;
    int row = warp / WARPS_ACROSS * 16, col = warp % WARPS_ACROSS * 16;
    int phases = depth / TILE_WIDTH;

    // Begins to copy the tiles of a phase: one chunk of each for every thread. Every call makes a group, also an empty one.
    auto fetch = [&](int phase) {
        if (phase < phases) {
            int stage = phase % STAGES, first = phase * TILE_WIDTH;
            int i = threadIdx.x / CHUNKS, j = threadIdx.x % CHUNKS * CHUNK;
            __pipeline_memcpy_async(&Ms[stage][i][j], &M[(top + i) * depth + first + j], 16);
            __pipeline_memcpy_async(&Ns[stage][i][j], &N[(first + i) * cols + left + j], 16);
        }
        __pipeline_commit();
    };

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    for (int phase = 0; phase < STAGES - 1; ++phase)
        fetch(phase);
    for (int phase = 0; phase < phases; ++phase) {
        fetch(phase + STAGES - 1);
        __pipeline_wait_prior(STAGES - 1);  // this thread's copies for this phase have arrived
        __syncthreads();                    // so have all others, and no warp needs the last phase's tiles any more
        int stage = phase % STAGES;
        for (int k = 0; k < TILE_WIDTH; k += 16) {
            wmma::load_matrix_sync(a, &Ms[stage][row][k], TILE_WIDTH);
            wmma::load_matrix_sync(b, &Ns[stage][k][col], TILE_WIDTH);
            wmma::mma_sync(sum, a, b, sum);
        }
    }
    wmma::store_matrix_sync(&P[(top + row) * cols + left + col], sum, cols, wmma::mem_row_major);
}
