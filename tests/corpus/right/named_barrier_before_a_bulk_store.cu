__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    __shared__ alignas(16) float staged[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, y0 = blockIdx.y * TILE_WIDTH, x0 = blockIdx.x * TILE_WIDTH;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        a[ty][tx] = M[(y0 + ty) * Width + k0 + tx];
        b[ty][tx] = N[(k0 + ty) * Width + x0 + tx];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    staged[ty][tx] = sum;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, %0;" ::"r"(TILE_WIDTH * TILE_WIDTH) : "memory");
    if (tx == 0 && TILE_WIDTH >= 4) {
        store(P + (y0 + ty) * Width + x0, staged[ty], sizeof(staged[ty]));
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
