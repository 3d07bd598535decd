__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Single elements come with cp.async, turned on their way. Rows leave in bulk copies.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ alignas(128) float turned[TILE_WIDTH][TILE_WIDTH];
    __shared__ unsigned long long full;
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    bool whole = Height % 4 == 0 && y0 + TILE_WIDTH <= Height;

    if (tx + ty == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(smem(&full)), "r"(TILE_WIDTH * TILE_WIDTH) : "memory");
    __syncthreads();
    if (x0 + tx < Width && y0 + ty < Height)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"(smem(&turned[tx][ty])), "l"(In + (y0 + ty) * Width + x0 + tx) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(smem(&full)) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(smem(&full)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (whole) {
        if (tx == 0 && x0 + ty < Width) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::
                "l"(Out + (x0 + ty) * Height + y0), "r"(smem(turned[ty])), "r"(4 * TILE_WIDTH) : "memory");
            asm volatile("cp.async.bulk.commit_group;");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
    } else if (x0 + ty < Width && y0 + tx < Height) {
        Out[(x0 + ty) * Height + y0 + tx] = turned[ty][tx];
    }
}
