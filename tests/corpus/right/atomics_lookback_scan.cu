// lookback scan
#include <cuda/atomic>
// decoupled look-back over block counts; status 0 none, 1 aggregate, 2 prefix, packed in 64 bits
__device__ unsigned long long st[1 << 18];
__device__ unsigned ticket;
__device__ unsigned finished;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned id;
    __shared__ unsigned start;
    if (threadIdx.x == 0) id = atomicAdd(&ticket, 1u);
    __syncthreads();
    unsigned mine = min(blockDim.x, n - id * blockDim.x);
    if (threadIdx.x == 0) {
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> me(st[id]);
        me.store((1ull << 32) | mine, cuda::memory_order_release);
        unsigned sum = 0;
        for (int j = (int)id - 1; j >= 0;) {
            cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> it(st[j]);
            unsigned long long v = it.load(cuda::memory_order_acquire);
            unsigned f = (unsigned)(v >> 32);
            if (f == 0) continue;
            sum += (unsigned)v;
            if (f == 2) break;
            j--;
        }
        me.store((2ull << 32) | (sum + mine), cuda::memory_order_release);
        start = sum;
    }
    __syncthreads();
    int i = start + threadIdx.x;
    if (threadIdx.x < mine) C[i] = A[i] + B[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
            __threadfence();
            for (unsigned b = 0; b < gridDim.x; b++) atomicExch(&st[b], 0ull);
            atomicExch(&ticket, 0u);
            atomicExch(&finished, 0u);
        }
    }
}
