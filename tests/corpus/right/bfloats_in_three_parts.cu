#include <mma.h>
#include <cuda_bf16.h>

using namespace nvcuda;

// The first warp multiplies all 16x16 parts of the tile, and the block adds up in float.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    constexpr int side = TILE_WIDTH < 16 ? 16 : TILE_WIDTH;
    __shared__ __align__(32) __nv_bfloat16 m[3][side][side], n[3][side][side];
    __shared__ __align__(32) float c[side][side];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto split = [&](float v, __nv_bfloat16 (*to)[side][side]) {
        for (int p = 0; p < 3; ++p) {
            to[p][ty][tx] = __float2bfloat16_rz(v);
            v -= __bfloat162float(to[p][ty][tx]);
        }
    };
    for (int i = t; i < 3 * side * side; i += blockDim.x * blockDim.y)
        (&m[0][0][0])[i] = (&n[0][0][0])[i] = __float2bfloat16(0.0f);
    __syncthreads();
    float total = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        split(M[row * Width + k0 + tx], m);
        split(N[(k0 + ty) * Width + col], n);
        __syncthreads();
        if (t / 32 == 0)
            for (int y = 0; y < side; y += 16)
                for (int x = 0; x < side; x += 16) {
                    wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
                    wmma::fill_fragment(f, 0.0f);
                    for (int both = 8; both >= 0; --both)
                        for (int k = 0; k < side; k += 16) {
                            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
                            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b;
                            wmma::load_matrix_sync(a, &m[both / 3][y][k], side);
                            wmma::load_matrix_sync(b, &n[both % 3][k][x], side);
                            wmma::mma_sync(f, a, b, f);
                        }
                    wmma::store_matrix_sync(&c[y][x], f, side, wmma::mem_row_major);
                }
        __syncthreads();
        total += c[ty][tx];
    }
    P[row * Width + col] = total;
}
