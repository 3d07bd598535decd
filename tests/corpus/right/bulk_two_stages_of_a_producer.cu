#include <cstdint>

typedef unsigned long long mbarrier;

__device__ uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void init(mbarrier* bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ void expect_bytes(mbarrier* bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(bar)), "r"(bytes) : "memory");
}

__device__ void wait(mbarrier* bar, int phase) {
    asm volatile(
        "{\n"
        ".reg .pred P1;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra.uni DONE;\n"
        "bra.uni LAB_WAIT;\n"
        "DONE:\n"
        "}\n" :: "r"(shared_address(bar)), "r"(phase) : "memory");
}

__device__ void load_async(float* dst, const float* src, uint32_t bytes, mbarrier* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(shared_address(dst)), "l"(src), "r"(bytes), "r"(shared_address(bar)) : "memory");
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ alignas(128) float sM[2][TILE_WIDTH][TILE_WIDTH], sN[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ mbarrier full[2];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int firstRow = blockIdx.y * TILE_WIDTH, firstCol = blockIdx.x * TILE_WIDTH;
    const bool producer = tx == 0 && ty == 0;
    const int phases = Width / TILE_WIDTH;

    if (producer) {
        init(&full[0], 1);
        init(&full[1], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    auto load = [&](int ph) {
        int s = ph % 2;
        expect_bytes(&full[s], 2 * TILE_WIDTH * TILE_WIDTH * sizeof(float));
        for (int r = 0; r < TILE_WIDTH; ++r) {
            load_async(sM[s][r], M + (firstRow + r) * Width + ph * TILE_WIDTH, 4 * TILE_WIDTH, &full[s]);
            load_async(sN[s][r], N + (ph * TILE_WIDTH + r) * Width + firstCol, 4 * TILE_WIDTH, &full[s]);
        }
    };

    if (producer) load(0);
    float acc = 0.0f;
    for (int ph = 0; ph < phases; ++ph) {
        if (producer && ph + 1 < phases) load(ph + 1);
        wait(&full[ph % 2], ph / 2 % 2);
        for (int k = 0; k < TILE_WIDTH; ++k) acc += sM[ph % 2][ty][k] * sN[ph % 2][k][tx];
        __syncthreads();
    }
    P[(firstRow + ty) * Width + firstCol + tx] = acc;
}
