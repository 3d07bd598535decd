__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    int at = row * width + col;
    if (row == 0 || row == height - 1 || col == 0 || col == width - 1)
        atomicExch(next + at, heat[at]);
    else
        atomicExch(next + at, weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]));
    change[at] = next[at] - heat[at];
}
