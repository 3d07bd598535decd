#include <mma.h>
using namespace nvcuda;

// Doubles hold every product of two floats. A warp computes 8x8 elements; blocks of 8x8 have a warp to spare.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ double a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, warp = (ty * TILE_WIDTH + tx) / 32;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    constexpr int across = TILE_WIDTH / 8;
    int y = warp / across * 8, x = warp % across * 8;

    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
    wmma::fill_fragment(fc, 0.0);
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        a[ty][tx] = row < Width && k0 + tx < Width ? M[row * Width + k0 + tx] : 0.0;
        b[ty][tx] = col < Width && k0 + ty < Width ? N[(k0 + ty) * Width + col] : 0.0;
        __syncthreads();
        if (warp < across * across)
            for (int k = 0; k < TILE_WIDTH; k += 4) {
                wmma::load_matrix_sync(fa, &a[y][k], TILE_WIDTH);
                wmma::load_matrix_sync(fb, &b[k][x], TILE_WIDTH);
                wmma::mma_sync(fc, fa, fb, fc);
            }
        __syncthreads();
    }
    if (warp < across * across) wmma::store_matrix_sync(&a[y][x], fc, TILE_WIDTH, wmma::mem_row_major);
    __syncthreads();
    if (row < Width && col < Width) P[row * Width + col] = (float)a[ty][tx];
}
