//!tilelab block=(8, 8) grid=(ceil(width/8), ceil(height/8))
__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            if (row + i >= 0 && row + i < height && col + j >= 0 && col + j < width)
                sum += mask[3 * i + j + 4] * image[(row + i) * width + col + j];
    result[row * width + col] = sum;
}
