#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ void expect_bytes(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

__device__ void wait_in_cluster(uint64_t& bar, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;"
        " @!done bra AGAIN;}"
        ::"r"(smem(&bar)), "r"(parity) : "memory");
}

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

__device__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Stores a value in another block, and reports its bytes to a barrier there.
__device__ void send(unsigned to, float value, unsigned bar) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];"
                 ::"r"(to), "f"(value), "r"(bar) : "memory");
}

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float a[BLOCK_SIZE];
    __shared__ uint64_t filled;
    unsigned rank = cluster_rank();
    int t = threadIdx.x, i = (blockIdx.x ^ 1) * BLOCK_SIZE + t, j = blockIdx.x * BLOCK_SIZE + t;
    if (t == 0) {
        fence_init();
        init_barrier(filled, 1);
    }
    cluster_arrive_relaxed();
    cluster_wait();
    if (t == 0) expect_bytes(filled, sizeof(a));
    send(of_block(rank ^ 1, &a[t]), i < n ? A[i] : 0, of_block(rank ^ 1, &filled));
    wait_in_cluster(filled, 0);
    if (j < n) C[j] = a[t] + B[j];
    cluster_arrive();
    cluster_wait();
}
