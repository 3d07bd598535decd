#include <mma.h>
using namespace nvcuda;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::store_matrix_sync(P, c, 16, wmma::mem_row_major);
}
