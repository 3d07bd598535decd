#define TILE_WIDTH 32
//!tilelab block=(32,1) grid=(ceil(Width/32), Height)
__device__ float line[512][32];
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    int lane = threadIdx.x, x0 = blockIdx.x * 32, y = blockIdx.y;
    float* a = line[y * gridDim.x + blockIdx.x];
    a[lane] = x0 + lane < Width ? In[y * Width + x0 + lane] : 0.0f;
    for (int step = 0; step < 3; ++step) {
        __syncwarp();
        a[lane] = a[(lane + 1) % 32];
        __syncwarp();
    }
    int x = x0 + (lane + 3) % 32;
    if (x < Width) Out[x * Height + y] = a[lane];
}
