// lane order heavy
#include <cuda/atomic>
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int c[32];
    int t = threadIdx.x, w = t / 32, lane = t % 32;
    unsigned x = t;
    for (int k = 0; k < 100; k++) x = x * 1664525u + 1013904223u;
    cuda::atomic_ref<int, cuda::thread_scope_block> r(c[w]);
    if (lane == 7) r.store(0, cuda::memory_order_relaxed);
    r.fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + t;
    if (i < n) C[i] = c[w] == 32 || x == 17 ? A[i] + B[i] : 0.0f;
}
