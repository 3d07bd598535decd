#include <mma.h>
using namespace nvcuda::wmma;

// A warp scans 256 values: as 16 rows of bytes times the upper triangle, and then the rows' sums one after the other.
__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ __align__(32) signed char triangle[16][16], bytes[BLOCK_SIZE / 32][16][16];
    __shared__ __align__(32) int sums[BLOCK_SIZE / 32][16][16], of_warp[BLOCK_SIZE / 32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int i = t; i < 256; i += BLOCK_SIZE) triangle[i / 16][i % 16] = i / 16 <= i % 16;
    __syncthreads();
    fragment<matrix_b, 16, 16, 16, signed char, row_major> upper;
    load_matrix_sync(upper, triangle[0], 16);

    int before = 0;
    for (int start = 0; start < n; start += 8 * BLOCK_SIZE) {
        int first = start + 256 * warp;
        for (int i = lane; i < 256; i += 32) bytes[warp][i / 16][i % 16] = first + i < n ? input[first + i] : 0;
        __syncwarp();
        fragment<matrix_a, 16, 16, 16, signed char, row_major> values;
        fragment<accumulator, 16, 16, 16, int> rows;
        fill_fragment(rows, 0);
        load_matrix_sync(values, bytes[warp][0], 16);
        mma_sync(rows, values, upper, rows);
        store_matrix_sync(sums[warp][0], rows, 16, mem_row_major);
        __syncwarp();
        int row = lane < 16 ? sums[warp][lane][15] : 0;
        for (int d = 1; d < 16; d *= 2) {
            int other = __shfl_up_sync(~0u, row, d);
            if (lane >= d) row += other;
        }
        if (lane == 15) of_warp[warp] = row;
        __syncthreads();
        int left = before;
        for (int w = 0; w < BLOCK_SIZE / 32; ++w) {
            if (w < warp) left += of_warp[w];
            before += of_warp[w];
        }
        for (int i = lane; i < 256; i += 32) {
            int above = __shfl_sync(~0u, row, max(0, i / 16 - 1));
            if (first + i < n) output[first + i] = left + (i < 16 ? 0 : above) + sums[warp][i / 16][i % 16];
        }
        __syncthreads();
    }
}
