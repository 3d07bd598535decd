// Tries: multiplies on the tensor cores in half precision.
// Caught by: exact results. Wide integers and full mantissas do not fit 11 bits.

#include <mma.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

#include <cuda_fp16.h>

using namespace nvcuda;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ __half Mds[16][16], Nds[16][16];
    __shared__ float Pds[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * 16 + ty, Col = blockIdx.x * 16 + tx;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < Width; k += 16) {
        Mds[ty][tx] = __float2half(Row < Width && k + tx < Width ? M[Row * Width + k + tx] : 0.0f);
        Nds[ty][tx] = __float2half(k + ty < Width && Col < Width ? N[(k + ty) * Width + Col] : 0.0f);
        __syncthreads();
        if (ty < 2) {
            wmma::load_matrix_sync(a, &Mds[0][0], 16);
            wmma::load_matrix_sync(b, &Nds[0][0], 16);
            wmma::mma_sync(c, a, b, c);
        }
        __syncthreads();
    }
    if (ty < 2) wmma::store_matrix_sync(&Pds[0][0], c, 16, wmma::mem_row_major);
    __syncthreads();
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pds[ty][tx];
}
