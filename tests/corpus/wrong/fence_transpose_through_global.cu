__device__ float4 copyOfIn[128 * 32];
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    float* flat = (float*)copyOfIn;
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) flat[y * 128 + x] = In[y * Width + x];
    __threadfence();
    __syncthreads();
    if (x * 4 < Width && y < Height) {
        float4 four = copyOfIn[y * 32 + x];
        float v[4] = {four.x, four.y, four.z, four.w};
        for (int i = 0; i < 4 && x * 4 + i < Width; ++i) Out[(x * 4 + i) * Height + y] = v[i];
    }
}
