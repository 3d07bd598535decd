#include <cooperative_groups.h>

//!tilelab block=(BLOCK_SIZE) grid=(2*ceil(n/(16*BLOCK_SIZE)))
__global__ void __cluster_dims__(2) histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ unsigned int own[1025];
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    cluster.sync();
    unsigned int* first = cluster.map_shared_rank(own, 0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&first[values[i]], 1u);
    cluster.sync();
    if (cluster.block_rank() == 0)
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}
