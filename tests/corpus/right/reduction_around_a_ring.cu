#include <cooperative_groups.h>

namespace cg = cooperative_groups;

//!tilelab block=(BLOCK_SIZE/2) grid=(4*ceil(n/(2*BLOCK_SIZE))) cluster=4
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float passed[2][BLOCK_SIZE / 2];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    float sum = i < n ? input[i] : 0, value = sum;
    for (int step = 1; step < cluster.num_blocks(); ++step) {
        float* there = cluster.map_shared_rank(passed[step % 2], next);
        if (step == 1) cluster.sync();
        there[t] = value;
        cluster.sync();
        value = passed[step % 2][t];
        sum += value;
    }
    __shared__ float total;
    if (t == 0) total = 0;
    __syncthreads();
    if (cluster.block_rank() == 0) atomicAdd(&total, sum);
    __syncthreads();
    if (t == 0 && cluster.block_rank() == 0) output[blockIdx.x / 4] = total;
}
