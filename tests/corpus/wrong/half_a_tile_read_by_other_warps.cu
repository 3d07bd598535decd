__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float2 tile[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    float own = x < Width && y < Height ? In[y * Width + x] : 0.0f;
    tile[ty][tx] = make_float2(own, 0);
    __syncwarp();
    float2 neighbour = tile[ty][(tx + 1) % TILE_WIDTH];
    float2 turned = tile[tx][ty];
    x = blockIdx.x * TILE_WIDTH + ty;
    y = blockIdx.y * TILE_WIDTH + tx;
    if (x < Width && y < Height) Out[x * Height + y] = turned.x + neighbour.y;
}
