// cuda atomic objects
#include <cuda/atomic>
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> total{0};
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ cuda::atomic<float, cuda::thread_scope_block> s;
    int t = threadIdx.x;
    if (t == 0) s.store(0.0f, cuda::memory_order_relaxed);
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + t;
    float v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    s.fetch_add(v, cuda::memory_order_relaxed);
    total.fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    if (t == 0) output[blockIdx.x] = s.load(cuda::memory_order_relaxed);
}
