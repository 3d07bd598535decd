// seqlock
#include <cuda/atomic>
__device__ unsigned seq;
__device__ int d0, d1;
__device__ int wl;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ bool good;
    if (threadIdx.x == 0) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> s(seq);
        cuda::atomic_ref<int, cuda::thread_scope_device> a(d0), b(d1);
        if (blockIdx.x == 0) {
            unsigned v = s.load(cuda::memory_order_relaxed);
            s.store(v + 1, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
            a.store(7, cuda::memory_order_relaxed);
            b.store(7, cuda::memory_order_relaxed);
            s.store(v + 2, cuda::memory_order_release);
            good = true;
        } else {
            unsigned before, after; int x, y;
            do {
                before = s.load(cuda::memory_order_acquire);
                x = a.load(cuda::memory_order_relaxed);
                y = b.load(cuda::memory_order_relaxed);
                cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
                after = s.load(cuda::memory_order_relaxed);
            } while (before != after || (before & 1));
            good = x == y;
        }
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = good ? A[i] + B[i] : -1.0f;
}
