#include <mma.h>
using namespace nvcuda::wmma;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ __align__(32) float tile[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    tile[y][x] = 0.0f;
    if (row < Width && col < Width)
        for (int k = 0; k < Width; ++k) tile[y][x] += M[row * Width + k] * N[k * Width + col];
    __syncthreads();
    if (blockIdx.x * 16 + 16 > Width || blockIdx.y * 16 + 16 > Width) {
        if (row < Width && col < Width) P[row * Width + col] = tile[y][x];
    } else if (y < 2) {
        fragment<accumulator, 16, 16, 16, float> result;
        load_matrix_sync(result, &tile[0][0], 16, mem_row_major);
        store_matrix_sync(P + blockIdx.y * 16 * Width + blockIdx.x * 16, result, Width, mem_row_major);
    }
}
