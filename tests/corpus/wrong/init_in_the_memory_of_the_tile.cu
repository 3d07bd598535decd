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

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float a[BLOCK_SIZE];
    uint64_t& filled = *(uint64_t*)a;
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t, other = BLOCK_SIZE - 1 - t;
    int j = blockIdx.x * BLOCK_SIZE + other;
    if (t == 0) init_barrier(filled, BLOCK_SIZE);
    __syncthreads();
    a[t] = i < n ? A[i] : 0;
    arrive(filled);
    wait(filled, 0);
    if (j < n) C[j] = a[other] + B[j];
}
