#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE)))
__global__ void __cluster_dims__(2) vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float left[BLOCK_SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
    int i = blockIdx.x * blockDim.x + t, j = (blockIdx.x ^ 1) * blockDim.x + t;
    auto token = cluster.barrier_arrive();
    left[t] = i < n ? A[i] : 0;
    float right = j < n ? B[j] : 0;
    cluster.barrier_wait(static_cast<decltype(token)&&>(token));
    float sum = cluster.map_shared_rank(left, rank ^ 1)[t] + right;
    cluster.sync();
    if (j < n) C[j] = sum;
}
