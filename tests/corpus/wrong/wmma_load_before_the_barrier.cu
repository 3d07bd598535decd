#include <mma.h>
using namespace nvcuda;

// Products of doubles. Each of the first warps computes 8x8 elements of the tile.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ double a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, warp = (ty * TILE_WIDTH + tx) / 32;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    constexpr int across = TILE_WIDTH / 8;
    int y = warp / across * 8, x = warp % across * 8;
    bool multiplies = warp < across * across;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        a[ty][tx] = M[row * Width + k0 + tx];
        b[ty][tx] = N[(k0 + ty) * Width + col];
        if (multiplies)
            for (int k = 0; k < TILE_WIDTH; k += 4) {
                wmma::load_matrix_sync(fa, &a[y][k], TILE_WIDTH);
                wmma::load_matrix_sync(fb, &b[k][x], TILE_WIDTH);
                wmma::mma_sync(sum, fa, fb, sum);
            }
        __syncthreads();
    }
    if (multiplies) wmma::store_matrix_sync(&a[y][x], sum, TILE_WIDTH, wmma::mem_row_major);
    __syncthreads();
    P[row * Width + col] = (float)a[ty][tx];
}
