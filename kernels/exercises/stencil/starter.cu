// One step of heat on a plate: inside, each point takes the mean of its four neighbours.
//
// Check it with:  tilelab grade starter.cu --exercise stencil

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;

    int at = row * width + col;
    // TODO: a point on the border keeps its value.
    next[at] = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
    // TODO: change
}
