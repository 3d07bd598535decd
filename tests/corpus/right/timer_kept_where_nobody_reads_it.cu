struct Entry {
    unsigned long long nanoseconds;
    unsigned int multiprocessor, multiprocessors;
};
__device__ Entry last[1024];

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < Width && y < Height) Out[x * Height + y] = In[y * Width + x];
    unsigned int block = blockIdx.y * gridDim.x + blockIdx.x;
    if (block < 1024 && threadIdx.x + threadIdx.y == 0) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last[block].nanoseconds));
        asm volatile("mov.u32 %0, %%smid;" : "=r"(last[block].multiprocessor));
        asm volatile("mov.u32 %0, %%nsmid;" : "=r"(last[block].multiprocessors));
    }
}
