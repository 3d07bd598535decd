#include <cstdint>

// Sums of rows as products with ones. A value has four bytes, and each is summed for itself.
// mma.m8n8k16: a thread holds 4 neighbouring bytes of a row of A.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ int of_row[TILE_WIDTH < 32 ? 32 : TILE_WIDTH];
    int t = threadIdx.x;
    // Tiles of fewer than 32 threads have no whole warp.
    if (TILE_WIDTH < 32) {
        float sum = 0.0f;
        for (int c = 0; c < Width; ++c) sum += M[(blockIdx.x * TILE_WIDTH + t) * Width + c];
        Sums[blockIdx.x * TILE_WIDTH + t] = sum;
        return;
    }
    for (int r0 = 0; r0 < TILE_WIDTH; r0 += 8) {
        const float* row = M + (blockIdx.x * TILE_WIDTH + r0 + t / 4) * Width + t % 4 * 4;
        int c[4][2] = {};
        for (int k = 0; k < Width; k += 16) {
            uint32_t v[4];
            for (int i = 0; i < 4; ++i) v[i] = (uint32_t)row[k + i];
            for (int byte = 0; byte < 3; ++byte) {
                uint32_t a = 0, ones = 0x01010101;
                for (int i = 0; i < 4; ++i) a |= (v[i] >> 8 * byte & 255) << 8 * i;
                asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                             : "+r"(c[byte][0]), "+r"(c[byte][1]) : "r"(a), "r"(ones));
            }
        }
        if (t % 4 == 0) of_row[r0 + t / 4] = c[0][0] + (c[1][0] << 8) + (c[2][0] << 16);
    }
    __syncthreads();
    Sums[blockIdx.x * TILE_WIDTH + t] = of_row[t];
}
