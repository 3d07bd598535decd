#include <cuda/barrier>

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float a[BLOCK_SIZE], b[BLOCK_SIZE];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t;
    if (t == 0) init(&bar, BLOCK_SIZE);
    __syncthreads();
    if (i < n) {
        cuda::memcpy_async(&a[t], &A[i], sizeof(float), bar);
        cuda::memcpy_async(&b[t], &B[i], sizeof(float), bar);
    }
    auto token = bar.arrive();
    __syncthreads();
    if (i < n) C[i] = a[t] + b[t];
}
