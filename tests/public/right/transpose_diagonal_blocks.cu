//!tilelab block=(TILE_WIDTH,TILE_WIDTH) grid=(max(ceil(Width/TILE_WIDTH),ceil(Height/TILE_WIDTH)), max(ceil(Width/TILE_WIDTH),ceil(Height/TILE_WIDTH)))
#define TILE_WIDTH 16
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int by = blockIdx.x;
    int bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    int x = bx * TILE_WIDTH + threadIdx.x, y = by * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) tile[threadIdx.y][threadIdx.x] = In[x + y * Width];
    __syncthreads();
    x = by * TILE_WIDTH + threadIdx.x;
    y = bx * TILE_WIDTH + threadIdx.y;
    if (x < Height && y < Width) Out[x + y * Height] = tile[threadIdx.x][threadIdx.y];
}
