// producer consumer ring
#include <cuda/atomic>
// warp 0 produces indices into a ring, the other warps take them
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int ring[8];
    __shared__ unsigned full[8];
    __shared__ unsigned tail, freed;
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (t < 8) full[t] = 0;
    if (t == 0) { tail = 0; freed = 0; }
    __syncthreads();
    int pieces = blockDim.x / 32;
    if (warp == 0) {
        if (lane == 0)
            for (int p = 0; p < pieces; p++) {
                cuda::atomic_ref<unsigned, cuda::thread_scope_block> f(full[p % 8]);
                while (f.load(cuda::memory_order_acquire) != 0) {}
                ring[p % 8] = p;
                f.store(1, cuda::memory_order_release);
            }
    } else {
        for (;;) {
            int p = 0;
            if (lane == 0) {
                unsigned k = atomicAdd(&tail, 1u);
                if ((int)k >= pieces) p = -1;
                else {
                    cuda::atomic_ref<unsigned, cuda::thread_scope_block> f(full[k % 8]);
                    // slot k%8 belongs to round k/8: single producer, several takers, so wait for own turn
                    cuda::atomic_ref<unsigned, cuda::thread_scope_block> fr(freed);
                    while (fr.load(cuda::memory_order_acquire) != k) {}
                    while (f.load(cuda::memory_order_acquire) != 1) {}
                    p = ring[k % 8];
                    f.store(0, cuda::memory_order_release);
                    fr.store(k + 1, cuda::memory_order_release);
                }
            }
            p = __shfl_sync(0xffffffffu, p, 0);
            if (p < 0) break;
            int i = blockIdx.x * blockDim.x + p * 32 + lane;
            if (i < n) C[i] = A[i] + B[i];
        }
    }
}
