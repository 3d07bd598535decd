#include <cuda/barrier>

using barrier_t = cuda::barrier<cuda::thread_scope_block>;

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ alignas(16) float a[BLOCK_SIZE], b[BLOCK_SIZE];
    __shared__ barrier_t full;
    int t = threadIdx.x, first = blockIdx.x * BLOCK_SIZE;
    if (first + BLOCK_SIZE > n) {
        if (first + t < n) C[first + t] = A[first + t] + B[first + t];
        return;
    }
    if (t == 0) {
        init(&full, BLOCK_SIZE);
    }
    __syncthreads();
    barrier_t::arrival_token token;
    if (t == 0) {
        cuda::device::memcpy_async_tx(a, A + first, cuda::aligned_size_t<16>(sizeof(a)), full);
        cuda::device::memcpy_async_tx(b, B + first, cuda::aligned_size_t<16>(sizeof(b)), full);
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(a) + sizeof(b));
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    C[first + t] = a[t] + b[t];
}
