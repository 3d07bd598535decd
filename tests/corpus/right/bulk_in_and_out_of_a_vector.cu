// After the sample for bulk copies in the CUDA programming guide.
#include <cuda/barrier>
#include <cuda/ptx>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float a[BLOCK_SIZE], b[BLOCK_SIZE];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    int first = blockIdx.x * BLOCK_SIZE, i = threadIdx.x;

    if (first + BLOCK_SIZE > n) {  // the last block isn't whole
        if (first + i < n) C[first + i] = A[first + i] + B[first + i];
        return;
    }
    if (i == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();

    if (i == 0) {
        cuda::memcpy_async(a, A + first, cuda::aligned_size_t<16>(sizeof(a)), bar);
        cuda::memcpy_async(b, B + first, cuda::aligned_size_t<16>(sizeof(b)), bar);
    }
    barrier::arrival_token token = bar.arrive();
    bar.wait(std::move(token));

    a[i] += b[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();

    if (i == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, C + first, a, sizeof(a));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
