// ticket lock blocks volatile counts
#include <cuda/atomic>
__device__ unsigned next_ticket;
__device__ unsigned serving;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> nx(next_ticket), sv(serving);
    __shared__ unsigned my;
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        if (threadIdx.x == 0) {
            my = nx.fetch_add(1);
            while (sv.load() != my) {}
        }
        __syncthreads();
        int i = base + threadIdx.x;
        if (i < n) atomicAdd(&counts[values[i]], 1u);
        __syncthreads();
        if (threadIdx.x == 0) sv.fetch_add(1);
    }
}
