// One thread computes the whole plate, with the launch of the exercise.

__global__ void relax(const float* heat, float* next, float* change, int height, int width, float weight) {
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y != 0) return;
    for (int row = 0; row < height; ++row)
        for (int col = 0; col < width; ++col) {
            int at = row * width + col;
            bool border = row == 0 || row == height - 1 || col == 0 || col == width - 1;
            float after = heat[at];
            if (!border)
                after = weight * (heat[at - width] + heat[at + width] + heat[at - 1] + heat[at + 1]);
            next[at] = after;
            change[at] = after - heat[at];
        }
}
