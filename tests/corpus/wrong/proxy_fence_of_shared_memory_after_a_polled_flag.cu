#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

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

// All but the last warp add halves. The last warp polls until they are done, collects them in bulk, and doubles them.
//!tilelab block=(BLOCK_SIZE+32)
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float collected[BLOCK_SIZE];
    __shared__ int done;
    __shared__ uint64_t full;
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE, count = min(n - first, BLOCK_SIZE) & ~3;
    if (t == 0) {
        done = 0;
        init_barrier(full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (t < BLOCK_SIZE) {
        if (first + t < n) C[first + t] = (A[first + t] + B[first + t]) / (t < count ? 2 : 1);
        __threadfence_block();
        atomicAdd(&done, 1);
        return;
    }
    if (t == BLOCK_SIZE) {
        while (atomicAdd(&done, 0) < BLOCK_SIZE) {}
        __threadfence_block();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect_bytes(full, 4 * count);
        if (count > 0) load(collected, C + first, 4 * count, full);
    }
    __syncwarp();
    wait(full, 0);
    for (int i = t - BLOCK_SIZE; i < count; i += 32) C[first + i] = 2 * collected[i];
}
