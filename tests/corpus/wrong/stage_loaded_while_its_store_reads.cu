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

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

#define wait_read(groups) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory")

#define PIECE (BLOCK_SIZE / 4)

// The first warp passes A through shared memory to C, piece by piece. Then all threads add B.
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float stage[2][PIECE];
    __shared__ uint64_t full[2];
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE;
    if (first + BLOCK_SIZE > n) {
        if (first + t < n) C[first + t] = A[first + t] + B[first + t];
        return;
    }
    if (t == 0) {
        init_barrier(full[0], 1);
        init_barrier(full[1], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int i = 0; i < 2; ++i) {
            expect_bytes(full[i], sizeof(stage[i]));
            load(stage[i], A + first + i * PIECE, sizeof(stage[i]), full[i]);
        }
        for (int i = 0; i < 4; ++i) {
            wait(full[i % 2], i / 2);
            store(C + first + i * PIECE, stage[i % 2], sizeof(stage[0]));
            if (i + 2 < 4) {
                wait_read(1);
                expect_bytes(full[i % 2], sizeof(stage[0]));
                load(stage[i % 2], A + first + (i + 2) * PIECE, sizeof(stage[0]), full[i % 2]);
            }
        }
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    C[first + t] += B[first + t];
}
