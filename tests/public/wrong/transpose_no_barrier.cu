#define TILE_WIDTH 32
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float t[TILE_WIDTH][TILE_WIDTH + 1];
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) t[threadIdx.y][threadIdx.x] = In[y * Width + x];
    int ox = blockIdx.y * TILE_WIDTH + threadIdx.x, oy = blockIdx.x * TILE_WIDTH + threadIdx.y;
    if (ox < Height && oy < Width) Out[oy * Height + ox] = t[threadIdx.x][threadIdx.y];
}
