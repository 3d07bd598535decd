// One step of heat on a plate: inside, each point takes the mean of its four neighbours.

__global__ void relax(float* heat, float* next, float* change, int height, int width, float weight) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;

    int at = row * width + col;
    bool border = row == 0 || row == height - 1 || col == 0 || col == width - 1;
    float after = heat[at];
    if (!border) after = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
    next[at] = after;
    change[at] = after - heat[at];
    heat[at] = after;
}
