typedef unsigned long long mbarrier_t;

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void mbarrier_init(mbarrier_t* bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(smem(bar)), "r"(count) : "memory");
}

__device__ void mbarrier_expect(mbarrier_t* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(smem(bar)), "r"(bytes) : "memory");
}

__device__ void mbarrier_wait(mbarrier_t* bar, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done) : "r"(smem(bar)), "r"(parity) : "memory");
}

__device__ void bulk_load(void* to, const void* from, int bytes, mbarrier_t* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(smem(to)), "l"(from), "r"(bytes), "r"(smem(bar)) : "memory");
}

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ __align__(128) float tile[TILE_WIDTH][TILE_WIDTH];
    __shared__ mbarrier_t bar;
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    bool whole = y0 + TILE_WIDTH <= Height && x0 + TILE_WIDTH <= Width;
    if (tx == 0 && ty == 0) mbarrier_init(&bar, 1);
    __syncthreads();
    if (whole) {
        if (tx == 0 && ty == 0) {
            mbarrier_expect(&bar, sizeof(tile));
            for (int r = 0; r < TILE_WIDTH; ++r)
                bulk_load(tile[r], In + (y0 + r) * Width + x0, 4 * TILE_WIDTH, &bar);
        }
        mbarrier_wait(&bar, 0);
    } else if (x0 + tx < Width && y0 + ty < Height) {
        tile[ty][tx] = In[(y0 + ty) * Width + x0 + tx];
    }
    __syncthreads();
    if (y0 + tx < Height && x0 + ty < Width) Out[(x0 + ty) * Height + y0 + tx] = tile[tx][ty];
}
