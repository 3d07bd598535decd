#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t;
    if (t == 0) total = 0;
    cluster.sync();
    int value = i < n ? (int)input[i] : 0;
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (t % 32 == 0) atomicAdd(cluster.map_shared_rank(&total, 0), value);
    __syncthreads();
    if (cluster.block_rank() == 0 && t == 0) output[blockIdx.x / 2] = total;
}
