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

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __align__(16) float a[BLOCK_SIZE], b[BLOCK_SIZE];
    __shared__ mbarrier_t bar[2];
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE;
    if (first + BLOCK_SIZE > n) {
        if (first + t < n) C[first + t] = A[first + t] + B[first + t];
        return;
    }
    if (t == 0) {
        mbarrier_init(&bar[0], 1);
        mbarrier_init(&bar[1], 1);
    }
    __syncthreads();
    if (t == 0) {
        mbarrier_expect(&bar[0], sizeof(a));
        bulk_load(a, A + first, sizeof(a), &bar[0]);
        mbarrier_expect(&bar[1], sizeof(b));
        bulk_load(b, B + first, sizeof(b), &bar[1]);
    }
    mbarrier_wait(&bar[0], 0);
    mbarrier_wait(&bar[0], 0);
    C[first + t] = a[t] + b[t];
}
