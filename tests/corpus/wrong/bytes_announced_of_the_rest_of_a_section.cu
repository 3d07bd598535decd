#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void arrive(uint64_t& bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(&bar)) : "memory");
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

__device__ void announce(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

// The first thread scans a section that two copies bring. The last values come without a copy.
__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ alignas(16) int values[BLOCK_SIZE];
    __shared__ uint64_t full;
    int t = threadIdx.x, before = 0, parity = 0;
    if (t == 0) {
        init_barrier(full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int start = 0; start < n; start += BLOCK_SIZE, parity ^= 1) {
        int count = min(n - start, BLOCK_SIZE) & ~3, half = count / 8 * 4;
        if (t == 0) {
            if (half > 0) {
                announce(full, 4 * half);
                load(values, input + start, 4 * half, full);
            }
            if (count > half) {
                announce(full, 4 * (BLOCK_SIZE - half));
                load(values + half, input + start + half, 4 * (count - half), full);
            }
            arrive(full);
        }
        wait(full, parity);
        int i = start + t, value = t < count ? values[t] : i < n ? input[i] : 0;
        for (int step = 1; step < BLOCK_SIZE; step *= 2) {
            __syncthreads();
            if (t < BLOCK_SIZE) values[t] = value;
            __syncthreads();
            if (t >= step) value += values[t - step];
        }
        if (i < n) output[i] = before + value;
        __syncthreads();
        values[t] = value;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        before += values[BLOCK_SIZE - 1];
        __syncthreads();
    }
}
