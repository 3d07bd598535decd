#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x >= Width || y >= Height || y % 2) return;
    float above = In[y * Width + x];
    if (y + 1 == Height)
        Out[x * Height + y] = above;
    else
        reinterpret_cast<float2*>(Out + x * Height + y)[0] = make_float2(above, In[(y + 1) * Width + x]);
}
