//!tilelab block=(TILE_WIDTH*TILE_WIDTH/2 + 32) grid=(Width/TILE_WIDTH, Width/TILE_WIDTH)
#include <cuda/barrier>

// The last warp loads. All others compute two rows of the tile each thread.
using barrier_t = cuda::barrier<cuda::thread_scope_block>;
#define CONSUMERS (TILE_WIDTH * TILE_WIDTH / 2)

__device__ static inline void wait_parity(barrier_t* bar, unsigned parity) {
    unsigned at = (unsigned)__cvta_generic_to_shared(bar), done;
    do {
        asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done) : "r"(at), "r"(parity) : "memory");
    } while (!done);
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ alignas(16) float a[2][TILE_WIDTH * TILE_WIDTH], b[2][TILE_WIDTH * TILE_WIDTH];
    __shared__ barrier_t full[2], empty[2];
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; ++s) {
            init(full + s, 33);
            init(empty + s, CONSUMERS);
        }
    __syncthreads();
    int tiles = Width / TILE_WIDTH;

    if (threadIdx.x >= CONSUMERS) {
        int lane = threadIdx.x - CONSUMERS;
        for (int i = 0; i < tiles; ++i) {
            int s = i & 1;
            wait_parity(empty + s, (i >> 1 & 1) ^ 1);
            unsigned bar = (unsigned)__cvta_generic_to_shared(full + s);
            if (lane == 0)
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(bar), "r"(8 * TILE_WIDTH * TILE_WIDTH) : "memory");
            __syncwarp();
            // one row of each tile for a lane
            if (lane < TILE_WIDTH) {
                const float* m = M + (blockIdx.y * TILE_WIDTH + lane) * Width + i * TILE_WIDTH;
                const float* n = N + (i * TILE_WIDTH + lane) * Width + blockIdx.x * TILE_WIDTH;
                unsigned to_a = (unsigned)__cvta_generic_to_shared(a[s] + lane * TILE_WIDTH);
                unsigned to_b = (unsigned)__cvta_generic_to_shared(b[s] + lane * TILE_WIDTH);
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             :: "r"(to_a), "l"(m), "n"(4 * TILE_WIDTH), "r"(bar) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             :: "r"(to_b), "l"(n), "n"(4 * TILE_WIDTH), "r"(bar) : "memory");
            }
            (void)full[s].arrive();
        }
    } else {
        int x = threadIdx.x % TILE_WIDTH, y = threadIdx.x / TILE_WIDTH * 2;
        float top = 0, bottom = 0;
        for (int i = 0; i < tiles; ++i) {
            int s = i & 1;
            wait_parity(full + s, i >> 1 & 1);
            for (int k = 0; k < TILE_WIDTH; ++k) {
                float n = b[s][k * TILE_WIDTH + x];
                top += a[s][y * TILE_WIDTH + k] * n;
                bottom += a[s][(y + 1) * TILE_WIDTH + k] * n;
            }
            (void)empty[s].arrive();
        }
        float* out = P + (blockIdx.y * TILE_WIDTH + y) * Width + blockIdx.x * TILE_WIDTH + x;
        out[0] = top;
        out[Width] = bottom;
    }
}
