#include <cuda/barrier>

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int tx = threadIdx.x, ty = threadIdx.y;
    if (tx + ty == 0) init(&bar, TILE_WIDTH * TILE_WIDTH);
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at) : "memory");
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    if (x < Width && y < Height) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&tile[ty][tx]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(In + y * Width + x) : "memory");
    }
    bar.wait_parity(false);
    x = blockIdx.y * TILE_WIDTH + tx;
    y = blockIdx.x * TILE_WIDTH + ty;
    if (x < Height && y < Width) Out[y * Height + x] = tile[tx][ty];
}
