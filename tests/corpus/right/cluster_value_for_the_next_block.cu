#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab block=(BLOCK_SIZE) grid=(4*ceil(n/(4*BLOCK_SIZE)))
__global__ void __cluster_dims__(4, 1, 1) vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float kept[BLOCK_SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    kept[t] = i < n ? A[i] + B[i] : 0;
    float* after = cluster.map_shared_rank(kept, cluster.block_rank() + 1);
    cluster.sync();
    bool inside = t + 1 < blockDim.x, last = cluster.block_rank() + 1 == cluster.num_blocks();
    if (inside && i + 1 < n) C[i + 1] = kept[t + 1];
    if (!inside && !last && i + 1 < n) C[i + 1] = after[0];
    if (t == 0 && cluster.block_rank() == 0 && i < n) C[i] = kept[0];
    cluster.sync();
}
