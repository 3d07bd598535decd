#include <cstdint>

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init_barrier(uint64_t& bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(arrivals) : "memory");
}

__device__ void expect_bytes(uint64_t& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(&bar)), "r"(bytes) : "memory");
}

__device__ void arrive(uint64_t& bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(&bar)) : "memory");
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

// A consumer adds up two elements of P, one above the other. The last warp produces.
//!tilelab block=(TILE_WIDTH*TILE_WIDTH/2+32) grid=(Width/TILE_WIDTH, Width/TILE_WIDTH)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    const int threads = TILE_WIDTH * TILE_WIDTH / 2;
    __shared__ alignas(16) float a[2][TILE_WIDTH][TILE_WIDTH], b[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ uint64_t full[2], empty[2];
    int t = threadIdx.x, y0 = blockIdx.y * TILE_WIDTH, x0 = blockIdx.x * TILE_WIDTH, steps = Width / TILE_WIDTH;
    if (t < 2) {
        init_barrier(full[t], 1);
        init_barrier(empty[t], threads);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (t >= threads) {
        if (t > threads) return;
        for (int i = 0; i < steps; ++i) {
            uint64_t& bar = full[i % 2];
            wait(empty[i % 2], i / 2 % 2 ^ 1);
            expect_bytes(bar, sizeof(a[0]) + sizeof(b[0]));
            for (int row = 0; row < TILE_WIDTH; ++row) {
                load(a[i % 2][row], M + (y0 + row) * Width + i * TILE_WIDTH, sizeof(a[0][0]), bar);
                load(b[i % 2][row], N + (i * TILE_WIDTH + row) * Width + x0, sizeof(b[0][0]), bar);
            }
        }
        return;
    }
    int x = t % TILE_WIDTH, y = t / TILE_WIDTH * 2;
    float above = 0, below = 0;
    for (int i = 0; i < steps; ++i) {
        wait(full[i % 2], i / 2 % 2);
        for (int k = 0; k < TILE_WIDTH; ++k) {
            above += a[i % 2][y][k] * b[i % 2][k][x];
            below += a[i % 2][y + 1][k] * b[i % 2][k][x];
        }
        arrive(empty[i % 2]);
    }
    P[(y0 + y) * Width + x0 + x] = above;
    P[(y0 + y + 1) * Width + x0 + x] = below;
}
