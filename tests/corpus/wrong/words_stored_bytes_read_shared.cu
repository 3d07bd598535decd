__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    tile[ty][tx] = x < Width && y < Height ? In[y * Width + x] : 0.0f;
    x = blockIdx.x * TILE_WIDTH + ty;
    y = blockIdx.y * TILE_WIDTH + tx;
    if (x >= Width || y >= Height) return;
    unsigned int bits = 0;
    for (int byte = 0; byte < 4; ++byte)
        bits |= (unsigned int)((volatile unsigned char*)&tile[tx][ty])[byte] << (8 * byte);
    Out[x * Height + y] = __uint_as_float(bits);
}
