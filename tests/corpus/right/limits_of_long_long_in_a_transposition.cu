static_assert(ULONG_MAX > UINT_MAX && UCHAR_MAX == 255, "64 bits");

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    long long x = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long y = blockIdx.y * (long long)blockDim.y + threadIdx.y;
    if (Height > LLONG_MAX / Width || x >= Width || y >= Height) return;
    Out[x * Height + y] = In[y * Width + x];
}
