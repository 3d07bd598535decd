#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE)))
__global__ void __cluster_dims__(2) vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float kept[BLOCK_SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (blockIdx.x * blockDim.x >= n) return;
    kept[t] = i < n ? A[i] + B[i] : 0;
    cluster.sync();
    bool whole = (blockIdx.x / 2 * 2 + 1) * blockDim.x < n;
    float value = cluster.map_shared_rank(kept, whole ? cluster.block_rank() ^ 1 : cluster.block_rank())[t];
    cluster.sync();
    int j = whole ? (blockIdx.x ^ 1) * blockDim.x + t : i;
    if (j < n) C[j] = value;
}
