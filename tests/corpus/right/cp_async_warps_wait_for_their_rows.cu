#include <cuda_pipeline.h>
#include <cuda_awbarrier_primitives.h>

// A barrier for each warp: its threads' copies arrive there, and only its threads wait.
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float a[BLOCK_SIZE], b[BLOCK_SIZE];
    __shared__ __mbarrier_t ready[BLOCK_SIZE / 32];
    int t = threadIdx.x, warp = t / 32, i = blockIdx.x * BLOCK_SIZE + t;
    if (t % 32 == 0) __mbarrier_init(&ready[warp], 32);
    __syncwarp();
    if (i < n) {
        __pipeline_memcpy_async(&a[t], &A[i], 4);
        __pipeline_memcpy_async(&b[t], &B[i], 4);
    }
    __pipeline_arrive_on(&ready[warp]);
    auto token = __mbarrier_arrive(&ready[warp]);
    while (!__mbarrier_test_wait(&ready[warp], token)) {}
    // the last value of the warp first
    int other = t ^ 31, at = blockIdx.x * BLOCK_SIZE + other;
    if (at < n) C[at] = a[other] + b[other];
}
