#include <cuda/barrier>

// The rows of the tile and one above and below are copied whole; the columns left and right of it singly.
__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    __shared__ alignas(16) float plate[TILE_WIDTH + 2][TILE_WIDTH];
    __shared__ float left[TILE_WIDTH], right[TILE_WIDTH];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int tx = threadIdx.x, ty = threadIdx.y, row0 = blockIdx.y * TILE_WIDTH, col0 = blockIdx.x * TILE_WIDTH;
    if (tx == 0 && ty == 0) init(&bar, TILE_WIDTH * TILE_WIDTH);
    __syncthreads();

    int here = min(TILE_WIDTH, width - col0);
    if (ty == 0)
        for (int r = tx; r < TILE_WIDTH + 2; r += TILE_WIDTH) {
            int row = row0 + r - 1;
            // any address and any size will do for memcpy_async without a promise of alignment
            if (row >= 0 && row < height) cuda::memcpy_async(plate[r], heat + row * width + col0, 4 * here, bar);
        }
    if (ty == 1 && row0 + tx < height) {
        if (col0 > 0) cuda::memcpy_async(&left[tx], &heat[(row0 + tx) * width + col0 - 1], 4, bar);
        if (col0 + TILE_WIDTH < width)
            cuda::memcpy_async(&right[tx], &heat[(row0 + tx) * width + col0 + TILE_WIDTH], 4, bar);
    }
    bar.arrive_and_wait();

    int row = row0 + ty, col = col0 + tx;
    if (row >= height || col >= width) return;
    float now = plate[ty + 1][tx], after = now;
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1) {
        float west = tx > 0 ? plate[ty + 1][tx - 1] : left[ty];
        float east = tx < TILE_WIDTH - 1 ? plate[ty + 1][tx + 1] : right[ty];
        after = weight * (plate[ty][tx] + plate[ty + 2][tx] + west + east);
    }
    next[row * width + col] = after;
    change[row * width + col] = after - now;
}
