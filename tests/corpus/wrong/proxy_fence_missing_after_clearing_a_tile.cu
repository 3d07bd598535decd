#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void expect_bytes(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

__device__ void wait(uint64_t& bar, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra AGAIN;}"
        ::"r"(smem(&bar)), "r"(parity) : "memory");
}

__device__ void load(void* to, const void* from, int bytes, uint64_t& bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(smem(to)), "l"(from), "r"(bytes), "r"(smem(&bar)) : "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

// Thread t sums row t of the block's rows. Every second tile is copied; the others are added from registers.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float tile[TILE_WIDTH][TILE_WIDTH];
    __shared__ uint64_t full;
    int t = threadIdx.x, first = blockIdx.x * TILE_WIDTH;
    if (t == 0) {
        init_barrier(full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    float sum = 0;
    int parity = 0;
    for (int col = 0; col < Width; col += TILE_WIDTH, parity ^= 1) {
        for (int row = 0; row < TILE_WIDTH; ++row) tile[row][t] = 0;
        __syncthreads();
        if (t == 0) {
            expect_bytes(full, sizeof(tile) / 2);
            for (int row = parity; row < TILE_WIDTH; row += 2)
                load(tile[row], M + (first + row) * Width + col, sizeof(tile[0]), full);
        }
        wait(full, parity);
        for (int c = 0; c < TILE_WIDTH; ++c) sum += tile[t][c] + (t % 2 != parity ? M[(first + t) * Width + col + c] : 0);
        __syncthreads();
    }
    Sums[first + t] = sum;
}
