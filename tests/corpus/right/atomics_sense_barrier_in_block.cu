// sense barrier in block
#include <cuda/atomic>
// a barrier among warps made of atomics, many rounds
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float s[1024];
    __shared__ int count, sense;
    int t = threadIdx.x;
    if (t == 0) { count = 0; sense = 0; }
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> c(count), se(sense);
    int i = 2 * blockIdx.x * blockDim.x + t;
    s[t] = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    int local = 0;
    int warps = blockDim.x / 32;
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        local ^= 1;
        __syncwarp();
        if (t % 32 == 0) {
            if (c.fetch_add(1, cuda::memory_order_acq_rel) == warps - 1) {
                c.store(0, cuda::memory_order_relaxed);
                se.store(local, cuda::memory_order_release);
            } else {
                while (se.load(cuda::memory_order_acquire) != local) {}
            }
        }
        __syncwarp();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
