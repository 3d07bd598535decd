__device__ float tile[256][TILE_WIDTH][TILE_WIDTH];
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    tile[b][ty][tx] = x < Width && y < Height ? In[y * Width + x] : 0.0f;
    __syncthreads();
    float other = tile[b][tx][ty];
    __syncthreads();
    tile[b][ty][tx] = other;
    x = blockIdx.y * TILE_WIDTH + tx;
    y = blockIdx.x * TILE_WIDTH + ty;
    if (x < Height && y < Width) Out[y * Height + x] = tile[b][ty][tx];
}
