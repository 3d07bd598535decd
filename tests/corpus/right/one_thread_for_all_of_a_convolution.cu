// One thread computes all elements, with the launch of the exercise.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y != 0) return;
    for (int row = 0; row < height; ++row)
        for (int col = 0; col < width; ++col) {
            float sum = 0.0f;
            for (int i = -1; i <= 1; ++i)
                for (int j = -1; j <= 1; ++j) {
                    bool inside = row + i >= 0 && row + i < height && col + j >= 0 && col + j < width;
                    if (inside) sum += mask[3 * i + j + 4] * image[(row + i) * width + col + j];
                }
            result[row * width + col] = sum;
        }
}
