// A 3x3 convolution. Each block loads its part of the image and the halo around it into shared memory.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

#define SIDE (TILE_WIDTH + 2)

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    __shared__ float tile[SIDE][SIDE];
    int top = blockIdx.y * TILE_WIDTH - 1, left = blockIdx.x * TILE_WIDTH - 1;

    // the tile has more cells than the block has threads
    for (int cell = threadIdx.y * TILE_WIDTH + threadIdx.x; cell < SIDE * SIDE; cell += TILE_WIDTH * TILE_WIDTH) {
        int row = top + cell / SIDE, col = left + cell % SIDE;
        bool inside = row < height && col < width;
        tile[cell / SIDE][cell % SIDE] = inside ? image[row * width + col] : 0.0f;
    }
    __syncthreads();

    int row = top + 1 + threadIdx.y, col = left + 1 + threadIdx.x;
    if (row >= height || col >= width) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            sum += mask[3 * i + j] * tile[threadIdx.y + i][threadIdx.x + j];
    result[row * width + col] = sum;
}
