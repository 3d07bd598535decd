#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];

    int tx = threadIdx.x;
    int ty = threadIdx.y;

    int x = blockIdx.x * TILE_WIDTH + tx;
    int y = blockIdx.y * TILE_WIDTH + ty;
    if (x < Width && y < Height) {
        tile[ty][tx] = In[y * Width + x];
    }
    __syncthreads();

    // the block's tile of Out: its rows are columns of In
    int outX = blockIdx.y * TILE_WIDTH + tx;
    int outY = blockIdx.x * TILE_WIDTH + ty;
    if (outX < Height && outY < Width) {
        Out[outY * Width + outX] = tile[tx][ty];
    }
}
