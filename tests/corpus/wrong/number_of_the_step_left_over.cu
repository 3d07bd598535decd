#define TILE_WIDTH 16

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (row >= height || col >= width) return;
    int at = row * width + col;
    float after = heat[at];
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1)
        after = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
    next[at] = after;
    change[at] = after - heat[at];
}
