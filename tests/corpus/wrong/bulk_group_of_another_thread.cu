__device__ void bulk_store(float* to, const float* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes) : "memory");
}

#define fence_proxy() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define commit() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define wait_read(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define wait_all() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __align__(16) float a[BLOCK_SIZE / 2];
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE;
    if (first + BLOCK_SIZE > n) {
        if (first + t < n) C[first + t] = A[first + t] + B[first + t];
        return;
    }
    for (int half = 0; half < 2; ++half) {
        int i = first + half * (BLOCK_SIZE / 2) + t;
        if (t < BLOCK_SIZE / 2) a[t] = A[i] + B[i];
        fence_proxy();
        __syncthreads();
        if (t == 0) {
            bulk_store(C + first + half * (BLOCK_SIZE / 2), a, 2 * BLOCK_SIZE);
            commit();
        }
        if (t == 32) wait_read(0);
        __syncthreads();
    }
}
