// A 3x3 convolution. Each block loads its part of the image and the halo around it into shared memory.
//
// Check it with:  tilelab grade starter.cu --exercise convolution

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void convolve(const float* image, const float* mask, float* result, int height, int width) {
    __shared__ float tile[TILE_WIDTH + 2][TILE_WIDTH + 2];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    // TODO: this loads only the middle of the tile. Load the halo, too.
    tile[threadIdx.y + 1][threadIdx.x + 1] = row < height && col < width ? image[row * width + col] : 0.0f;
    __syncthreads();

    if (row >= height || col >= width) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            sum += mask[3 * i + j] * tile[threadIdx.y + i][threadIdx.x + j];
    result[row * width + col] = sum;
}
