#include <mma.h>
using namespace nvcuda::wmma;

// 11 bits and 11 bits and 2 bits: three TF32 numbers hold a float. The smallest products come first.
__device__ void split(float v, float& high, float& middle, float& low) {
    high = __uint_as_float(__float_as_uint(v) & 0xffffe000u);
    middle = __uint_as_float(__float_as_uint(v - high) & 0xffffe000u);
    low = v - high - middle;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    constexpr int SIDE = TILE_WIDTH < 16 ? 16 : TILE_WIDTH;
    __shared__ __align__(32) float A[3][SIDE][SIDE], B[3][SIDE][SIDE], C[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx, warp = t / 32;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    constexpr int across = SIDE / 16;
    int y = warp / across * 16, x = warp % across * 16;

    // a tile of 8 is a quarter of the matrix
    for (int i = t; i < 3 * SIDE * SIDE; i += TILE_WIDTH * TILE_WIDTH) (&A[0][0][0])[i] = (&B[0][0][0])[i] = 0.0f;
    fragment<accumulator, 16, 16, 8, float> sum;
    fill_fragment(sum, 0.0f);
    __syncthreads();
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        split(M[row * Width + ph * TILE_WIDTH + tx], A[0][ty][tx], A[1][ty][tx], A[2][ty][tx]);
        split(N[(ph * TILE_WIDTH + ty) * Width + col], B[0][ty][tx], B[1][ty][tx], B[2][ty][tx]);
        __syncthreads();
        if (warp < across * across)
            for (int k = 0; k < TILE_WIDTH; k += 8)
                for (int parts = 4; parts >= 0; --parts)
                    for (int p = max(0, parts - 2); p <= min(2, parts); ++p) {
                        fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> a;
                        fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> b;
                        load_matrix_sync(a, &A[p][y][k], SIDE);
                        load_matrix_sync(b, &B[parts - p][k][x], SIDE);
                        mma_sync(sum, a, b, sum);
                    }
        __syncthreads();
    }
    if (warp < across * across) store_matrix_sync(&C[y][x], sum, SIDE, mem_row_major);
    __syncthreads();
    P[row * Width + col] = C[ty][tx];
}
