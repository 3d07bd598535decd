#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif
#define PITCH (TILE_WIDTH + 1)
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float data[TILE_WIDTH * PITCH];
    int i = blockIdx.y * TILE_WIDTH + threadIdx.y, j = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (i < Height && j < Width) data[threadIdx.y * PITCH + threadIdx.x] = In[i * Width + j];
    __syncthreads();
    int io = blockIdx.x * TILE_WIDTH + threadIdx.y, jo = blockIdx.y * TILE_WIDTH + threadIdx.x;
    if (io < Width && jo < Height) Out[io * Height + jo] = data[threadIdx.x * PITCH + threadIdx.y];
}
