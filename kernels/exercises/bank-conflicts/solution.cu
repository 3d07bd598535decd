// Transposition through a tile in shared memory: Out[x][y] = In[y][x], for a matrix of Height x Width elements.
//
// Global memory is read and written along rows, so both are coalesced. The tile is transposed in shared memory. Each
// row of the tile has one cell more than it needs. With a pitch of 33, the cells of a column are in 32 different banks.
// With a pitch of 32, they would all be in one bank.

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
        Out[outY * Height + outX] = tile[tx][ty];
    }
}
