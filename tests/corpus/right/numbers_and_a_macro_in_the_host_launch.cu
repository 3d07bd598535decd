#define TILE_WIDTH 8

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[8][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < Width && y < Height) tile[threadIdx.y][threadIdx.x] = In[y * Width + x];
    __syncthreads();
    x = blockIdx.y * 8 + threadIdx.x;
    y = blockIdx.x * 8 + threadIdx.y;
    if (x < Height && y < Width) Out[y * Height + x] = tile[threadIdx.x][threadIdx.y];
}

#ifndef TILELAB
void transpose(float* In, float* Out, int Height, int Width) {
    dim3 block(TILE_WIDTH, TILE_WIDTH);
    dim3 grid((Width + TILE_WIDTH - 1) / TILE_WIDTH, (Height + TILE_WIDTH - 1) / TILE_WIDTH);
    transposeKernel<<<grid, block>>>(In, Out, Height, Width);
}
#endif
