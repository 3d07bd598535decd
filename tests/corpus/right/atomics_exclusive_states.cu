// exclusive states
#include <cuda/atomic>
// life cycle 0->1->2 by whoever wins: once-initialisation of a table (std::call_once)
__device__ int once;
__device__ int table[32];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> o(once);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        int expected = 0;
        if (o.compare_exchange_strong(expected, 1, cuda::memory_order_acq_rel)) {
            for (int k = 0; k < 32; k++) table[k] = 1;
            o.store(2, cuda::memory_order_release);
        } else while (o.load(cuda::memory_order_acquire) != 2) {}
    }
    __syncthreads();
    if (i < n) C[i] = table[threadIdx.x % 32] * (A[i] + B[i]);
}
