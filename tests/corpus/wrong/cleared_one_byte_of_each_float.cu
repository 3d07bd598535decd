__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float tile[TILE_WIDTH * (TILE_WIDTH + 1)];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    for (int b = t; b < TILE_WIDTH * (TILE_WIDTH + 1); b += TILE_WIDTH * TILE_WIDTH) ((char*)tile)[4 * b + 3] = 0;
    __syncthreads();
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    float old = tile[ty * (TILE_WIDTH + 1) + tx];
    __syncthreads();
    if (x < Width && y < Height) tile[ty * (TILE_WIDTH + 1) + tx] = In[y * Width + x] + old;
    __syncthreads();
    x = blockIdx.y * TILE_WIDTH + tx;
    y = blockIdx.x * TILE_WIDTH + ty;
    if (x < Height && y < Width) Out[y * Height + x] = tile[tx * (TILE_WIDTH + 1) + ty];
}
