#include <cstdint>

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

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void wait(uint64_t& bar, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @!done bra AGAIN;}"
        ::"r"(smem(&bar)), "r"(parity) : "memory");
}

__device__ void arrive_at(unsigned bar) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

//!tilelab grid=(2*ceil(n/BLOCK_SIZE)) cluster=2
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float a[BLOCK_SIZE];
    __shared__ uint64_t filled, over;
    unsigned rank = cluster_rank();
    int t = threadIdx.x, i = blockIdx.x / 2 * BLOCK_SIZE + t;
    if (t == 0) {
        init_barrier(filled, BLOCK_SIZE);
        init_barrier(over, BLOCK_SIZE);
    }
    cluster_arrive();
    cluster_wait();
    if (rank == 0) {
        a[t] = i < n ? A[i] : 0;
        arrive_at(of_block(1, &filled));
    } else {
        wait(filled, 0);
        float value;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(of_block(0, &a[t])) : "memory");
        if (i < n) C[i] = value + B[i];
    }
}
