// Tries: multiplies on the tensor cores with each factor split into two terms of TF32, of which three products are
// added up. The terms are cut, not rounded.
// Caught by: exact results. Integers come out right, full mantissas do not.

#include <mma.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

using namespace nvcuda;

using Left = wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;
using Right = wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;

// What is left of the elements after the first 11 bits of each.
template <typename Fragment>
__device__ Fragment rest(Fragment& whole) {
    Fragment small;
    for (int i = 0; i < whole.num_elements; ++i) {
        float large = __int_as_float(__float_as_int(whole.x[i]) & 0xffffe000);
        small.x[i] = __int_as_float(__float_as_int(whole.x[i] - large) & 0xffffe000);
        whole.x[i] = large;
    }
    return small;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[16][16], Nds[16][16], Pds[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * 16 + ty, Col = blockIdx.x * 16 + tx;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < Width; k += 16) {
        Mds[ty][tx] = Row < Width && k + tx < Width ? M[Row * Width + k + tx] : 0.0f;
        Nds[ty][tx] = k + ty < Width && Col < Width ? N[(k + ty) * Width + Col] : 0.0f;
        __syncthreads();
        for (int half = 0; ty < 2 && half < 16; half += 8) {
            Left a;
            Right b;
            wmma::load_matrix_sync(a, &Mds[0][half], 16);
            wmma::load_matrix_sync(b, &Nds[half][0], 16);
            Left a2 = rest(a);
            Right b2 = rest(b);
            wmma::mma_sync(c, a, b, c);
            wmma::mma_sync(c, a, b2, c);
            wmma::mma_sync(c, a2, b, c);
        }
        __syncthreads();
    }
    if (ty < 2) wmma::store_matrix_sync(&Pds[0][0], c, 16, wmma::mem_row_major);
    __syncthreads();
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pds[ty][tx];
}
