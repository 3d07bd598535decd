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

__device__ void expect_bytes(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

__device__ void wait(uint64_t& bar, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @!done bra AGAIN;}"
        ::"r"(smem(&bar)), "r"(parity) : "memory");
}

__device__ float sum_of_block(const float* input, int n) {
    __shared__ float sums[BLOCK_SIZE / 2];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? input[i] : 0;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    return sums[t];
}

//!tilelab grid=(4*ceil(n/(2*BLOCK_SIZE))) block=(BLOCK_SIZE/2) cluster=4
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ alignas(16) int4 parts[4];
    __shared__ uint64_t full;
    unsigned rank = cluster_rank();
    if (threadIdx.x == 0) {
        init_barrier(full, 1);
        if (rank == 0) expect_bytes(full, 4 * sizeof(int4));
    }
    cluster_arrive();
    cluster_wait();
    float sum = sum_of_block(input, n);
    if (threadIdx.x == 0 && blockIdx.x * blockDim.x < n)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%0], {%1, 1, 0, 0}, [%2];"
                     ::"r"(of_block(0, &parts[rank])), "r"(__float_as_int(sum)), "r"(of_block(0, &full)) : "memory");
    if (rank > 0 || threadIdx.x > 0) return;
    wait(full, 0);
    float total = 0;
    for (int i = 0; i < 4; ++i) total += __int_as_float(parts[i].x);
    output[blockIdx.x / 4] = total;
}
