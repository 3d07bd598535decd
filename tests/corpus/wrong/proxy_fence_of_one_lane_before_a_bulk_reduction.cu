__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void add_to(float* to, const float* from, int bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

__device__ float totals[512][8];

//!tilelab block=256 grid=(ceil(n/(2*BLOCK_SIZE)))
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ alignas(16) float sums[8];
    int t = threadIdx.x, first = blockIdx.x * 2 * BLOCK_SIZE;
    if (t < 8) totals[blockIdx.x][t] = 0;
    float sum = 0;
    for (int i = t; i < 2 * BLOCK_SIZE; i += 256) sum += first + i < n ? input[first + i] : 0;
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (t % 32 == 0) sums[t / 32] = sum;
    if (t == 0) asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        add_to(totals[blockIdx.x], sums, sizeof(sums));
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        float total = 0;
        for (int i = 0; i < 8; ++i) total += totals[blockIdx.x][i];
        output[blockIdx.x] = total;
    }
}
