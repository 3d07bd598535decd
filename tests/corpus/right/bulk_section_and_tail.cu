#include <cuda/barrier>

// A section arrives in one bulk copy of whole 16 bytes. Up to three values behind it are loaded by their threads.
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ alignas(16) float section[2 * BLOCK_SIZE];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x, start = 2 * BLOCK_SIZE * blockIdx.x;
    int here = min(2 * BLOCK_SIZE, n - start), whole = here / 4 * 4;

    if (t == 0) {
        init(&bar, blockDim.x);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (t == 0) {
        cuda::memcpy_async(section, input + start, cuda::aligned_size_t<16>(4 * whole), bar);
    }
    for (int i = whole + t; i < 2 * BLOCK_SIZE; i += BLOCK_SIZE) section[i] = i < here ? input[start + i] : 0.0f;
    bar.wait(bar.arrive());

    for (int stride = BLOCK_SIZE; stride > 0; stride /= 2) {
        if (t < stride) section[t] += section[t + stride];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = section[0];
}
