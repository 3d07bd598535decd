#include <cuda.h>
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

#define SIDE 64   // rows and columns of P per block
#define DEPTH 32  // of a tile
#define THREADS 128
//!tilelab block=(THREADS) grid=(ceil(cols/SIDE), ceil(rows/SIDE))

typedef __nv_bfloat16 Tile[SIDE][DEPTH + 8];  // 8 more elements in each row, so that rows start in different banks

// Copies a tile of M, or of N by columns, 16 bytes at a time.
__device__ void loadTile(Tile& tile, const __nv_bfloat16* matrix, int top, int left, int lines, int depth) {
    for (int i = threadIdx.x; i < SIDE * DEPTH / 8; i += THREADS) {
        int line = i / (DEPTH / 8), k = i % (DEPTH / 8) * 8;
        bool inside = top + line < lines && left + k < depth;
        *(uint4*)&tile[line][k] = inside ? *(const uint4*)&matrix[(size_t)(top + line) * depth + left + k] : uint4();
    }
}

__global__ void tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols,
                              const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN) {
    __shared__ __align__(32) Tile Ms, Ns;
    int top = blockIdx.y * SIDE, left = blockIdx.x * SIDE;
    int warp = threadIdx.x / 32, row = warp / 2 * 32, col = warp % 2 * 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b[2];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);

    for (int phase = 0; phase < depth; phase += DEPTH) {
        loadTile(Ms, M, top, phase, rows, depth);
        loadTile(Ns, N, left, phase, cols, depth);
        __syncthreads();
        for (int k = 0; k < DEPTH; k += 16) {
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(a[i], &Ms[row + 16 * i][k], DEPTH + 8);
                wmma::load_matrix_sync(b[i], &Ns[col + 16 * i][k], DEPTH + 8);
            }
            for (int i = 0; i < 4; ++i) wmma::mma_sync(sum[i / 2][i % 2], a[i / 2], b[i % 2], sum[i / 2][i % 2]);
        }
    }
    for (int i = 0; i < 4; ++i) {
        int Row = top + row + i / 2 * 16, Col = left + col + i % 2 * 16;
        if (Row < rows && Col < cols)
            wmma::store_matrix_sync(&P[(size_t)Row * cols + Col], sum[i / 2][i % 2], cols, wmma::mem_row_major);
    }
}
