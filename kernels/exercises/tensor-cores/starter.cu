// Idea: tensor cores. A warp multiplies matrices of 16 x 16 with one instruction.

#include <cuda.h>
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

#define WARPS 4
//!tilelab block=(32*WARPS) grid=(ceil(cols/(16*WARPS)), ceil(rows/16))

__global__ void tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols,
                              const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN) {
    int row = blockIdx.y * 16, col = (blockIdx.x * WARPS + threadIdx.x / 32) * 16;
    if (col >= cols) return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(a, &M[(size_t)row * depth + k], depth);
        wmma::load_matrix_sync(b, &N[(size_t)col * depth + k], depth);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(&P[(size_t)row * cols + col], sum, cols, wmma::mem_row_major);
}
