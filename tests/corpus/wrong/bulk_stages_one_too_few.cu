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

// Thread t sums row t of the block's rows.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ __align__(128) float part[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ mbarrier_t full[2];
    int t = threadIdx.x, firstRow = blockIdx.x * TILE_WIDTH, steps = Width / TILE_WIDTH;
    if (t == 0)
        for (int s = 0; s < 2; ++s) mbarrier_init(&full[s], 1);
    __syncthreads();
    auto fetch = [&](int step) {
        mbarrier_t* bar = &full[step % 2];
        mbarrier_expect(bar, sizeof(part[0]));
        for (int r = 0; r < TILE_WIDTH; ++r)
            bulk_load(part[step % 2][r], M + (firstRow + r) * Width + step * TILE_WIDTH, 4 * TILE_WIDTH, bar);
    };
    float sum = 0.0f;
    if (t == 0) {
        fetch(0);
        if (steps > 1) fetch(1);
    }
    for (int i = 0; i < steps; ++i) {
        mbarrier_wait(&full[i % 2], i / 2 % 2);
        if (t == 0 && i + 2 < steps) fetch(i + 2);
        for (int c = 0; c < TILE_WIDTH; ++c) sum += part[i % 2][t][c];
        __syncthreads();
    }
    Sums[firstRow + t] = sum;
}
