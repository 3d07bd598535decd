__constant__ int2 directions[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = 0, here = heat[row * width + col];
    int inside = 0;
    for (const int2& step : directions) {
        int y = row + step.y, x = col + step.x;
        if (y < 0 || y >= height || x < 0 || x >= width) continue;
        sum += heat[y * width + x];
        ++inside;
    }
    float after = inside == 4 ? weight * sum : here;
    next[row * width + col] = after;
    change[row * width + col] = after - here;
}
