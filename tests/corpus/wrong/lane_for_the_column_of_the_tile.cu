__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + lane;
    if (row >= height || col >= width) return;
    int at = row * width + col;
    float after = heat[at];
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1)
        after = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
    if (lane < 16) next[at] = change[at] = after;
    if (lane < 16) change[at] -= heat[at];
}
