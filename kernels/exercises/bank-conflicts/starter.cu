// Transposition through a tile in shared memory: Out[x][y] = In[y][x], for a matrix of Height x Width elements.
//
// This kernel is correct, and its accesses to global memory are coalesced. But in one access to shared memory, all 32
// threads of a warp use different cells of one bank. Find this access and remove the conflict.
//
// Check it with:  tilelab grade starter.cu --exercise bank-conflicts

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH];

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
