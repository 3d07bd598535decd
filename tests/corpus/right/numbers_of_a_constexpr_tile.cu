constexpr int TILE_WIDTH = 8;

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    __shared__ float tile[10][10];
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    for (int cell = threadIdx.y * 8 + threadIdx.x; cell < 100; cell += 64) {
        int r = (int)blockIdx.y * 8 - 1 + cell / 10, c = (int)blockIdx.x * 8 - 1 + cell % 10;
        tile[cell / 10][cell % 10] = r >= 0 && r < height && c >= 0 && c < width ? heat[r * width + c] : 0;
    }
    __syncthreads();
    if (row >= height || col >= width) return;
    int y = threadIdx.y + 1, x = threadIdx.x + 1;
    float after = tile[y][x];
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1)
        after = weight * (tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1]);
    next[row * width + col] = after;
    change[row * width + col] = after - tile[y][x];
}
