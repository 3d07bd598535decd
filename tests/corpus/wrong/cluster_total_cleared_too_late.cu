#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=(2)
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float* first = cluster.map_shared_rank(&total, 0);
    if (i < n) atomicAdd(first, input[i]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) output[blockIdx.x / 2] = total;
}
