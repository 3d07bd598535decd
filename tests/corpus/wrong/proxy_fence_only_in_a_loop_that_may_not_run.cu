#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

// A block has up to 8 rounds of values. The last block may have none, and its state is all zeros.
//!tilelab block=(BLOCK_SIZE/4) grid=(ceil(n/(2*BLOCK_SIZE)))
__device__ float scratch[64][BLOCK_SIZE / 4];

__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ alignas(16) float state[BLOCK_SIZE / 4];
    int t = threadIdx.x, threads = blockDim.x, first = blockIdx.x * 8 * threads;
    int rounds = (min(n - first, 8 * threads) - 1) / threads;
    state[t] = 0;
    for (int round = 0; round < rounds; ++round) {
        state[t] += input[first + round * threads + t];
        proxy_fence();
        __syncthreads();
    }
    __syncthreads();
    if (t == 0) {
        store(scratch[blockIdx.x], state, sizeof(state));
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        float sum = 0;
        for (int i = 0; i < threads; ++i) sum += scratch[blockIdx.x][i];
        for (int i = first + rounds * threads; i < min(n, first + 8 * threads); ++i) sum += input[i];
        output[blockIdx.x] = sum;
    }
}
