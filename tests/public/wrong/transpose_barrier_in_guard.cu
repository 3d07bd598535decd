#define TILE_WIDTH 16
__global__ void transposeKernel(float *idata, float *odata, int height, int width) {
    __shared__ float block[TILE_WIDTH][TILE_WIDTH + 1];
    unsigned int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    unsigned int y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < width && y < height) {
        block[threadIdx.y][threadIdx.x] = idata[y * width + x];
        __syncthreads();
    }
    x = blockIdx.y * TILE_WIDTH + threadIdx.x;
    y = blockIdx.x * TILE_WIDTH + threadIdx.y;
    if (x < height && y < width) odata[y * height + x] = block[threadIdx.x][threadIdx.y];
}
