#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(4*ceil(n/(4*BLOCK_SIZE))) cluster=4
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float sums[BLOCK_SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank(), group = blockIdx.x / 4 * 4 * BLOCK_SIZE;
    // Thread t of each block has element t of each quarter, block by block.
    int i = group + 4 * t + rank;
    sums[t] = i < n ? A[i] + B[i] : 0;
    cluster.sync();
    auto leave = cluster.barrier_arrive();
    for (int other = 0; other < 4; ++other) {
        int j = group + rank * BLOCK_SIZE + t;
        if (j % 4 != other) continue;
        const float* there = cluster.map_shared_rank(sums, other);
        if (j < n) C[j] = there[(j - group) / 4];
    }
    cluster.barrier_wait(std::move(leave));
}
