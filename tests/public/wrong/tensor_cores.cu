//!tilelab block=(32) grid=(Width/16, Width/16) tile=16
#include <mma.h>
using namespace nvcuda;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ half a[256], b[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < Width; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            a[i] = __float2half(M[(row + i / 16) * Width + k + i % 16]);
            b[i] = __float2half(N[(k + i / 16) * Width + col + i % 16]);
        }
        __syncwarp();
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncwarp();
    }
    wmma::store_matrix_sync(P + row * Width + col, fc, Width, wmma::mem_row_major);
}
