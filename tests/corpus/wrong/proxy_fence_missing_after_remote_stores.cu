__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The same place in another block of the cluster.
__device__ unsigned of_block(unsigned rank, const void* p) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(p)), "r"(rank));
    return there;
}

__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float theirs[BLOCK_SIZE];
    unsigned rank = cluster_rank();
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t, first = (blockIdx.x ^ 1) * BLOCK_SIZE;
    cluster_arrive();
    cluster_wait();
    float sum = i < n ? A[i] + B[i] : 0;
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(of_block(rank ^ 1, &theirs[t])), "f"(sum) : "memory");
    cluster_arrive();
    cluster_wait();
    if (first + BLOCK_SIZE > n) {
        if (first + t < n) C[first + t] = theirs[t];
    } else if (t == 0) {
        store(C + first, theirs, sizeof(theirs));
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
