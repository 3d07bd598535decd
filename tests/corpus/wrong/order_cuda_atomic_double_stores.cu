// cuda atomic double stores
#include <cuda/atomic>
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ double key;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    cuda::atomic_ref<double, cuda::thread_scope_block> k(key);
    k.store(t < 32 ? 1.0 : 2.0, cuda::memory_order_relaxed);
    __syncthreads();
    if (i < n) C[i] = key > 0 ? A[i] + B[i] : 0.0f;
}
