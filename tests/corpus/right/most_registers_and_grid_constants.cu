__global__ void __maxnreg__(64) relax(const float* const __grid_constant__ heat, float* next, float* change,
                                      const __grid_constant__ int height, const __grid_constant__ int width,
                                      const __grid_constant__ float weight) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    int at = row * width + col;
    float after = heat[at];
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1)
        after = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
    next[at] = after;
    change[at] = after - heat[at];
}
