#include <cuda/barrier>

// Without .noinc, the copies' arrival is one more, and each thread still arrives itself.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int tx = threadIdx.x, ty = threadIdx.y;
    if (tx + ty == 0) init(&ready, blockDim.x * blockDim.y);
    __syncthreads();

    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    if (x < Width && y < Height) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"((unsigned)__cvta_generic_to_shared(&tile[ty][tx])), "l"(&In[y * Width + x]) : "memory");
        asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];"
                     :: "r"((unsigned)__cvta_generic_to_shared(&ready)) : "memory");
    }
    ready.arrive_and_wait();

    x = blockIdx.y * TILE_WIDTH + tx;
    y = blockIdx.x * TILE_WIDTH + ty;
    if (x < Height && y < Width) Out[y * Height + x] = tile[tx][ty];
}
