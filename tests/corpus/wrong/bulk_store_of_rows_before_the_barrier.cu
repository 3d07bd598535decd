__device__ void bulk_store(float* to, const float* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes) : "memory");
}

#define fence_proxy() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define commit() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define wait_read(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define wait_all() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")

// Only whole tiles leave in bulk.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ __align__(128) float turned[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    if (Height % 4 || y0 + TILE_WIDTH > Height || x0 + TILE_WIDTH > Width) {
        if (x0 + tx < Width && y0 + ty < Height) Out[(x0 + tx) * Height + y0 + ty] = In[(y0 + ty) * Width + x0 + tx];
        return;
    }
    turned[tx][ty] = In[(y0 + ty) * Width + x0 + tx];
    fence_proxy();
    if (tx == 0) bulk_store(Out + (x0 + ty) * Height + y0, turned[ty], 4 * TILE_WIDTH);
    __syncthreads();
    if (tx == 0) {
        commit();
        wait_read(0);
    }
}
