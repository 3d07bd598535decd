__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Each warp waits for its own copies. Others may come later.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    __shared__ unsigned long long ready[TILE_WIDTH * TILE_WIDTH / 32];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int x = blockIdx.x * TILE_WIDTH + tx, y = blockIdx.y * TILE_WIDTH + ty;
    if (t % 32 == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(smem(ready + t / 32)) : "memory");
    __syncwarp();
    if (x < Width && y < Height)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"(smem(&tile[ty][tx])), "l"(In + y * Width + x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(smem(ready + t / 32)) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(smem(ready + t / 32)) : "memory");
    x = blockIdx.y * TILE_WIDTH + tx;
    y = blockIdx.x * TILE_WIDTH + ty;
    if (x < Height && y < Width) Out[y * Height + x] = tile[tx][ty];
}
