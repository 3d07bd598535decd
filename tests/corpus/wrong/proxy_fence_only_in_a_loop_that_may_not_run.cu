__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

// The rounds add all tiles of the block's rows but the first. A matrix with one column of tiles has no round.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float state[TILE_WIDTH];
    int t = threadIdx.x, first = blockIdx.x * TILE_WIDTH, rounds = Width / TILE_WIDTH - 1;
    auto sum_of_tile = [&](int tile) {
        float sum = 0;
        for (int c = 0; c < TILE_WIDTH; ++c) sum += M[(first + t) * Width + tile * TILE_WIDTH + c];
        return sum;
    };
    state[t] = 0;
    for (int round = 0; round < rounds; ++round) {
        state[t] += sum_of_tile(round + 1);
        proxy_fence();
        __syncthreads();
    }
    __syncthreads();
    if (t == 0) {
        store(Sums + first, state, sizeof(state));
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    Sums[first + t] += sum_of_tile(0);
}
