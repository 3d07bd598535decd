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

//!tilelab grid=(2*ceil(n/(8*BLOCK_SIZE))) shared=4*bins
__global__ void __cluster_dims__(2, 1, 1) histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own_counts[];
    __shared__ unsigned int all;
    __shared__ unsigned long long done;
    unsigned int rank = cluster_rank();
    if (threadIdx.x == 0) {
        all = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(own(&done)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(own(&done)), "r"(4 * blockDim.x)
                     : "memory");
    }
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own_counts[bin] = 0;
    cluster_sync();
    unsigned int counted = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x, ++counted)
        atomicAdd(&own_counts[values[i]], 1u);
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
            in_block(&all, rank ^ 1)),
        "r"(counted), "r"(in_block(&done, rank ^ 1))
        : "memory");
    wait_for(&done, 0);
    __syncthreads();
    if (all > n) return;
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own_counts[bin]);
}
