__constant__ double turns[4] = {0, M_PI_2, M_PI, M_PI + M_PI_2};

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = mask[4] * image[row * width + col];
    for (int k = 0; k < 4; ++k) {
        // a neighbour, and the corner behind it
        int down = (int)rint(sin(turns[k])), right = (int)rint(cos(turns[k]));
        int down2 = (int)rint(M_SQRT2 * sin(turns[k] + M_PI_4)), right2 = (int)rint(M_SQRT2 * cos(turns[k] + M_PI_4));
        int y = row + down, x = col + right, y2 = row + down2, x2 = col + right2;
        if (y >= 0 && y < height && x >= 0 && x < width) sum += mask[3 * down + right + 4] * image[y * width + x];
        if (y2 >= 0 && y2 < height && x2 >= 0 && x2 < width)
            sum += mask[3 * down2 + right2 + 4] * image[y2 * width + x2];
    }
    result[row * width + col] = sum;
}
