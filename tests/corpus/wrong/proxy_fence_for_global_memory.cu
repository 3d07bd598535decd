// Transposes through shared memory. Whole rows of the turned tile leave it in bulk copies.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ alignas(128) float turned[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    bool whole = Height % 4 == 0 && y0 + TILE_WIDTH <= Height;

    if (x0 + tx < Width && y0 + ty < Height) turned[tx][ty] = In[(y0 + ty) * Width + x0 + tx];
    __syncthreads();
    if (whole) {
        // Thread (0, ty) has seen all writes at the barrier, so its fence covers them.
        if (tx == 0 && x0 + ty < Width) {
            asm volatile("fence.proxy.async.global;" ::: "memory");
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::
                "l"(Out + (x0 + ty) * Height + y0), "r"((unsigned)__cvta_generic_to_shared(turned[ty])),
                "r"(4 * TILE_WIDTH) : "memory");
            asm volatile("cp.async.bulk.commit_group;");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
    } else if (x0 + ty < Width && y0 + tx < Height) {
        Out[(x0 + ty) * Height + y0 + tx] = turned[ty][tx];
    }
}
