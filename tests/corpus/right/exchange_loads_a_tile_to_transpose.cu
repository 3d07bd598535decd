#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) atomicExch(&tile[threadIdx.y][threadIdx.x], In[y * Width + x]);
    __syncthreads();
    int outX = blockIdx.y * TILE_WIDTH + threadIdx.x, outY = blockIdx.x * TILE_WIDTH + threadIdx.y;
    if (outX < Height && outY < Width) Out[outY * Height + outX] = tile[threadIdx.x][threadIdx.y];
}
