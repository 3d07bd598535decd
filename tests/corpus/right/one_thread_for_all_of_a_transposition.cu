__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    if (blockIdx.x || blockIdx.y || threadIdx.x || threadIdx.y) return;
    for (int y = 0; y < Height; ++y)
        for (int x = 0; x < Width; ++x) Out[x * Height + y] = In[y * Width + x];
}
