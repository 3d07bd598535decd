__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (height < 0) result[0] = tex2D<float>((cudaTextureObject_t)1, col, row);
    if (row >= height || col >= width) return;
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            if (row + i >= 0 && row + i < height && col + j >= 0 && col + j < width)
                sum += mask[3 * i + j + 4] * image[(row + i) * width + col + j];
    result[row * width + col] = sum;
}
