#include <cuda/ptx>

namespace ptx = cuda::ptx;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float theirs[BLOCK_SIZE];
    __shared__ uint64_t stored;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, j = (blockIdx.x ^ 1) * blockDim.x + t;
    unsigned int other = ptx::get_sreg_cluster_ctarank() ^ 1;
    if (t == 0) {
        ptx::mbarrier_init(&stored, BLOCK_SIZE);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::barrier_cluster_arrive(ptx::sem_relaxed);
    ptx::barrier_cluster_wait();
    float* there = (float*)__cluster_map_shared_rank(&theirs[t], other);
    *there = i < n ? A[i] : 0;
    uint64_t* arrived = (uint64_t*)__cluster_map_shared_rank(&stored, other);
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, arrived);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &stored, 0));
    if (j < n) C[j] = theirs[t] + B[j];
}
