//!tilelab block=(TILE_WIDTH, TILE_WIDTH/4)
__global__ void transposeKernel(const float* __restrict__ In, float* __restrict__ Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    for (int r = threadIdx.y; r < TILE_WIDTH; r += blockDim.y) {
        int y = blockIdx.y * TILE_WIDTH + r;
        if (x < Width && y < Height) tile[r][threadIdx.x] = In[y * Width + x];
    }
    __syncthreads();
    int outX = blockIdx.y * TILE_WIDTH + threadIdx.x;
    for (int r = threadIdx.y; r < TILE_WIDTH; r += blockDim.y) {
        int outY = blockIdx.x * TILE_WIDTH + r;
        if (outX < Height && outY < Width) Out[outY * Height + outX] = tile[threadIdx.x][r];
    }
}
