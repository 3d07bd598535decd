#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    __shared__ float tile[TILE_WIDTH + 2][TILE_WIDTH + 2];
    int top = blockIdx.y * TILE_WIDTH - 1, left = blockIdx.x * TILE_WIDTH - 1;
    for (int y = threadIdx.y; y < TILE_WIDTH + 2; y += TILE_WIDTH)
        for (int x = threadIdx.x; x < TILE_WIDTH + 2; x += TILE_WIDTH) {
            int row = top + y, col = left + x;
            tile[y][x] = row >= 0 && row < height && col >= 0 && col < width ? heat[row * width + col] : INFINITY;
        }
    __syncthreads();
    int y = threadIdx.y + 1, x = threadIdx.x + 1, row = top + y, col = left + x;
    if (row >= height || col >= width) return;
    float sum = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
    float after = sum == INFINITY ? tile[y][x] : weight * sum;
    next[row * width + col] = after;
    change[row * width + col] = after - tile[y][x];
}
