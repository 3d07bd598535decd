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
    __shared__ float a[BLOCK_SIZE];
    __shared__ uint64_t filled;
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t, other = t ^ 32, j = blockIdx.x * BLOCK_SIZE + other;
    int pairs = min(n - (int)blockIdx.x * BLOCK_SIZE, BLOCK_SIZE) / 64;
    if (t == 0) init_barrier(filled, 64 * pairs);
    __syncthreads();
    if (t < 64 * pairs) {
        a[t] = A[i];
        arrive(filled);
        wait(filled, 0);
        C[j] = a[other] + B[j];
    } else if (i < n) {
        C[i] = A[i] + B[i];
    }
}
