#include <mma.h>
using namespace nvcuda;

// Values are split into digits below 2^11, which a half holds. Ones times the matrix adds up its columns.
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ __align__(32) half digits[BLOCK_SIZE / 32][256], ones[256];
    __shared__ __align__(32) float sums[BLOCK_SIZE / 32][256];
    __shared__ double of_warp[BLOCK_SIZE / 32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int i = t; i < 256; i += BLOCK_SIZE) ones[i] = __float2half(1.0f);
    __syncthreads();

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::load_matrix_sync(a, ones, 16);
    double sum = 0.0, weight = 1.0;
    for (int digit = 0; digit < 3; ++digit, weight *= 2048.0) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
        wmma::fill_fragment(c, 0.0f);
        // 64 of the section's values for each warp
        for (int i = lane; i < 256; i += 32) {
            int at = 2 * BLOCK_SIZE * blockIdx.x + 64 * warp + i;
            int value = i < 64 && at < n ? (int)input[at] : 0;
            digits[warp][i] = __float2half((float)(value >> 11 * digit & 2047));
        }
        __syncwarp();
        wmma::load_matrix_sync(b, digits[warp], 16);
        wmma::mma_sync(c, a, b, c);
        wmma::store_matrix_sync(sums[warp], c, 16, wmma::mem_row_major);
        __syncwarp();
        for (int i = 0; i < 16; ++i) sum += weight * sums[warp][i];
    }
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (t == 0) {
        double total = 0.0;
        for (int w = 0; w < BLOCK_SIZE / 32; ++w) total += of_warp[w];
        output[blockIdx.x] = (float)total;
    }
}
