// The block keeps its sums as pairs of halves, and widens them before they leave: high + low is the sum.
#include <cuda_fp16.h>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ void widen(float* wide, const half2* parts, int t) {
    wide[t] = __low2float(parts[t]) + __high2float(parts[t]);
}

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ half2 parts[BLOCK_SIZE];
    __shared__ alignas(16) float wide[BLOCK_SIZE];
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE;
    float sum = first + t < n ? A[first + t] + B[first + t] : 0;
    half high = __float2half_rd(sum);
    parts[t] = __halves2half2(high, __float2half(sum - __half2float(high)));
    __syncthreads();
    widen(wide, parts, t);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (first + BLOCK_SIZE <= n) {
        if (t == 0) {
            store(C + first, wide, sizeof(wide));
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
    } else if (first + t < n) {
        C[first + t] = wide[t];
    }
}
