__constant__ float F[3][3];

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            int y = row + i - 1, x = col + j - 1;
            if (y >= 0 && y < height && x >= 0 && x < width) sum += F[i][j] * image[y * width + x];
        }
    result[row * width + col] = sum;
}
