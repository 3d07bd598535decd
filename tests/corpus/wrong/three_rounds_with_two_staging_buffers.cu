__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define wait_read(groups) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory")

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

//!tilelab grid=(ceil(n/(4*BLOCK_SIZE)))
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float staged[2][BLOCK_SIZE];
    int t = threadIdx.x;
    for (int round = 0; round < 4; ++round) {
        int first = (4 * blockIdx.x + round) * BLOCK_SIZE;
        bool whole = first + BLOCK_SIZE <= n;
        if (t == 0) wait_read(2);
        __syncthreads();
        if (first + t < n) staged[round % 2][t] = A[first + t] + B[first + t];
        proxy_fence();
        __syncthreads();
        if (whole && t == 0) store(C + first, staged[round % 2], sizeof(staged[0]));
        if (!whole && first + t < n) C[first + t] = staged[round % 2][t];
    }
    if (t == 0) wait_read(0);
}
