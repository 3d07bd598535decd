__constant__ float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = 0;
    #pragma unroll 1
    for (int k = 0; k < 9; ++k) {
        int y = row + k / 3 - 1, x = col + k % 3 - 1;
        float factor = ones[k] * mask[k];
        if (y >= 0 && y < height && x >= 0 && x < width) sum += factor * image[y * width + x];
    }
    result[row * width + col] = sum;
}
