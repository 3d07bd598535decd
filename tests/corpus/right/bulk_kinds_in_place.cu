#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

// One warp waits for the copy, and the barrier tells the others.
__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    __shared__ alignas(128) float kept[96];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int kind = threadIdx.x / 32, at = 3 * (threadIdx.x % 32) + kind;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        auto* handle = cuda::device::barrier_native_handle(bar);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, kept, In + 96 * blockIdx.x, sizeof(kept), handle);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, handle, sizeof(kept));
        while (!ptx::mbarrier_try_wait_parity(handle, 0)) {}
    }
    __syncthreads();
    float value = kept[at];
    for (int r = 0; r < rounds; ++r) value = kind == 0 ? value + 1.0f : kind == 1 ? value - 1.0f : value * 2.0f;
    kept[at] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, Out + 96 * blockIdx.x, kept, sizeof(kept));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
