#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[BLOCK_SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? input[i] : 0;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    if (cluster.block_rank() == 0) cluster.sync();
    if (cluster.block_rank() == 0 && t == 0) {
        const float* other = cluster.map_shared_rank(sums, 1);
        output[blockIdx.x / 2] = sums[0] + other[0];
    }
    cluster.sync();
}
