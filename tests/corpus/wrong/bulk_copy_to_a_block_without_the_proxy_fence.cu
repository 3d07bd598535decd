__device__ unsigned int own(const void* place) { return (unsigned int)__cvta_generic_to_shared(place); }

__device__ unsigned int in_block(const void* place, unsigned int rank) {
    unsigned int there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own(place)), "r"(rank));
    return there;
}

__device__ unsigned int cluster_rank() {
    unsigned int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ void wait_for(unsigned long long* barrier, unsigned int parity) {
    unsigned int done = 0;
    while (!done)
        asm volatile(
            "{.reg .pred p;\n"
            " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
            " selp.b32 %0, 1, 0, p;}"
            : "=r"(done) : "r"(own(barrier)), "r"(parity) : "memory");
}

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE)))
__global__ void __cluster_dims__(2, 1, 1) vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float mine[BLOCK_SIZE], theirs[BLOCK_SIZE];
    __shared__ unsigned long long full;
    unsigned int rank = cluster_rank();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, j = (blockIdx.x ^ 1) * blockDim.x + t;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(own(&full)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(own(&full)), "r"(4 * BLOCK_SIZE)
                     : "memory");
    }
    mine[t] = i < n ? A[i] : 0;
    cluster_sync();
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         in_block(theirs, rank ^ 1)),
                     "r"(own(mine)), "r"(4 * BLOCK_SIZE), "r"(in_block(&full, rank ^ 1))
                     : "memory");
    wait_for(&full, 0);
    if (j < n) C[j] = theirs[t] + B[j];
    cluster_sync();
}
