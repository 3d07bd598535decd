// cg coalesced agg
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned agg(unsigned* p) {
    auto g = cg::coalesced_threads();
    unsigned prev = 0;
    if (g.thread_rank() == 0) prev = atomicAdd(p, g.size());
    return g.thread_rank() + g.shfl(prev, 0);
}
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (int b = 0; b < bins; b++) if (values[i] == b) agg(&counts[b]);
}
