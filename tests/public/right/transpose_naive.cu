__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < Width && y < Height) Out[x * Height + y] = In[y * Width + x];
}
