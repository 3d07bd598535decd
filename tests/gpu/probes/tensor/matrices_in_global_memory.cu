// Whole matrices straight from global memory, and sums straight to it, along their lines and across.
#include <mma.h>
using namespace nvcuda::wmma;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    if (threadIdx.y * blockDim.x + threadIdx.x >= 32) return;
    int top = 16 * blockIdx.y, left = 16 * blockIdx.x;
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<matrix_a, 16, 16, 16, signed char, col_major> c;
    fragment<matrix_b, 16, 16, 16, signed char, col_major> d;
    fragment<accumulator, 16, 16, 16, float> sums;
    fragment<accumulator, 16, 16, 16, int> counts;
    load_matrix_sync(a, (half*)M + top * 2 * Width + left, 2 * Width);
    load_matrix_sync(b, (half*)N + left * 2 * Width + top, 2 * Width);
    load_matrix_sync(c, (signed char*)M + top * 4 * Width + left, 4 * Width);
    load_matrix_sync(d, (signed char*)N + left * 4 * Width + top, 4 * Width);
    fill_fragment(sums, 0.0f);
    fill_fragment(counts, 0);
    mma_sync(sums, a, b, sums);
    mma_sync(counts, c, d, counts);
    for (int i = 0; i < sums.num_elements; ++i) sums.x[i] += counts.x[i];
    store_matrix_sync(P + top * Width + left, sums, Width, (top + left) % 32 ? mem_col_major : mem_row_major);
}
