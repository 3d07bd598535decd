#define TILE_WIDTH 16

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[8][TILE_WIDTH + 1];
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) tile[threadIdx.y][threadIdx.x] = In[y * Width + x];
    __syncthreads();
    x = blockIdx.y * TILE_WIDTH + threadIdx.x;
    y = blockIdx.x * TILE_WIDTH + threadIdx.y;
    if (x < Height && y < Width) Out[y * Height + x] = tile[threadIdx.x][threadIdx.y];
}
