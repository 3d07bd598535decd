// A warp stores 16x16 elements of P.
#include <mma.h>
using namespace nvcuda::wmma;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ __align__(32) float tile[256];
    int t = threadIdx.y * blockDim.x + threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 16;
    for (int i = t; i < 256; i += blockDim.x * blockDim.y) {
        int row = row0 + i / 16, col = col0 + i % 16;
        tile[i] = 0.0f;
        if (row < Width && col < Width)
            for (int k = 0; k < Width; ++k) tile[i] += M[row * Width + k] * N[k * Width + col];
    }
    __syncthreads();
    if (t < 32) {
        fragment<accumulator, 16, 16, 16, float> result;
        load_matrix_sync(result, tile, 16, mem_row_major);
        store_matrix_sync(P + row0 * Width + col0, result, (Width + 3) / 4 * 4, mem_row_major);
    }
}
