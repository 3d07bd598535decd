#include <cuda_pipeline.h>
#include <cuda_awbarrier_primitives.h>

// The primitives of the barrier: arrive for the copies, arrive, and test.
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float a[BLOCK_SIZE], b[BLOCK_SIZE];
    __shared__ __mbarrier_t ready;
    int t = threadIdx.x, i = blockIdx.x * BLOCK_SIZE + t;
    if (t == 0) __mbarrier_init(&ready, BLOCK_SIZE);
    __syncthreads();
    if (i < n) {
        __pipeline_memcpy_async(&a[t], &A[i], 4);
        __pipeline_memcpy_async(&b[t], &B[i], 4);
    }
    __pipeline_arrive_on(&ready);
    auto token = __mbarrier_arrive(&ready);
    while (!__mbarrier_test_wait(&ready, token)) {}
    // another warp's copies
    int other = BLOCK_SIZE - 1 - t, at = blockIdx.x * BLOCK_SIZE + other;
    if (at < n) C[at] = a[other] + b[other];
}
