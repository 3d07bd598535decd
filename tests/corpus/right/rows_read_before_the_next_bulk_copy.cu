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

// One warp copies tiles and adds them up, one stage after the other. A lane sums a row.
//!tilelab block=32
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float stage[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ uint64_t full[2];
    int lane = threadIdx.x, first = blockIdx.x * TILE_WIDTH, rounds = Width / TILE_WIDTH;
    if (lane < 2) {
        init_barrier(full[lane], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    auto fetch = [&](int round) {
        uint64_t& bar = full[round % 2];
        expect_bytes(bar, sizeof(stage[0]));
        for (int row = 0; row < TILE_WIDTH; ++row)
            load(stage[round % 2][row], M + (first + row) * Width + round * TILE_WIDTH, sizeof(stage[0][0]), bar);
    };
    if (lane == 0) fetch(0);
    float sum = 0;
    for (int round = 0; round < rounds; ++round) {
        if (lane == 0 && round + 1 < rounds) fetch(round + 1);
        wait(full[round % 2], round / 2 % 2);
        for (int c = 0; c < TILE_WIDTH && lane < TILE_WIDTH; ++c) sum += stage[round % 2][lane][c];
        __syncwarp();
    }
    if (lane < TILE_WIDTH) Sums[first + lane] = sum;
}
