#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ void expect_bytes(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

__device__ void wait(uint64_t& bar, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra AGAIN;}"
        ::"r"(smem(&bar)), "r"(parity) : "memory");
}

__device__ void load(void* to, const void* from, int bytes, uint64_t& bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(smem(to)), "l"(from), "r"(bytes), "r"(smem(&bar)) : "memory");
}

__device__ bool tried(uint64_t& bar, int parity) {
    unsigned done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(smem(&bar)), "r"(parity) : "memory");
    return done;
}

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float a[BLOCK_SIZE];
    __shared__ uint64_t full;
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE, count = min(n - first, BLOCK_SIZE) / 4 * 4;
    if (t == 0) {
        init_barrier(full, 1);
        fence_init();
    }
    __syncthreads();
    if (t == 0) {
        expect_bytes(full, 4 * count);
        if (count > 0) load(a, A + first, 4 * count, full);
    }
    if (!tried(full, 0)) wait(full, 1);
    if (t < count) C[first + t] = a[t] + B[first + t];
    else if (first + t < n) C[first + t] = A[first + t] + B[first + t];
    wait(full, 0);
}
