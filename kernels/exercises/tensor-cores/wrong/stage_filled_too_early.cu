#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

#define TILE_M 128  // rows of P per block
#define TILE_N 128  // columns
#define TILE_K 64   // of a tile
#define STAGES 3
//!tilelab block=(128) grid=(ceil(cols/TILE_N), ceil(rows/TILE_M)) shared=(STAGES*(TILE_M+TILE_N)*TILE_K*2)

__device__ unsigned sharedAddress(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void initBarrier(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and adds to the bytes that the phase waits for.
__device__ void expectBytes(uint64_t* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(sharedAddress(barrier)), "r"(bytes) : "memory");
}

__device__ void waitFor(uint64_t* barrier, int parity) {
    asm volatile("{\n\t"
                 ".reg .pred complete;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n\t"
                 "@!complete bra again;\n\t"
                 "}" ::"r"(sharedAddress(barrier)), "r"(parity) : "memory");
}

// Copies the box of a tensor map that begins at column x and row y.
__device__ void copyBox(void* to, const CUtensorMap& map, int x, int y, uint64_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(sharedAddress(to)), "l"(&map), "r"(sharedAddress(barrier)), "r"(x), "r"(y) : "memory");
}

// Describes a tile whose lines of 128 bytes are swizzled: groups of 8 lines are 1,024 bytes apart.
__device__ uint64_t describe(const void* tile) {
    return (sharedAddress(tile) & 0x3FFFF) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

#define S4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)

// sum = a * b, or sum += a * b: 64 rows of a by 128 columns of b, 16 deep.
__device__ __forceinline__ void multiply(float (&sum)[64], uint64_t a, uint64_t b, bool add) {
    asm volatile("{\n\t"
        ".reg .pred add;\n\t"
        "setp.ne.b32 add, %66, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, add, 1, 1, 0, 0;\n\t"
        "}"
        : S16(0), S16(16), S16(32), S16(48)
        : "l"(a), "l"(b), "r"((int)add));
}

struct Stage {
    __nv_bfloat16 Ms[TILE_M][TILE_K];
    __nv_bfloat16 Ns[TILE_N][TILE_K];
};

__global__ void __launch_bounds__(128) tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols,
                              const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN) {
    extern __shared__ __align__(1024) Stage stages[];
    __shared__ uint64_t full[STAGES];
    int top = blockIdx.y * TILE_M, left = blockIdx.x * TILE_N, phases = (depth + TILE_K - 1) / TILE_K;
    auto fetch = [&](int phase) {
        if (threadIdx.x == 0 && phase < phases) {
            Stage& stage = stages[phase % STAGES];
            uint64_t* barrier = &full[phase % STAGES];
            expectBytes(barrier, sizeof(Stage));
            copyBox(stage.Ms, mapM, phase * TILE_K, top, barrier);
            copyBox(stage.Ns, mapN, phase * TILE_K, left, barrier);
        }
    };
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) initBarrier(&full[i], 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    float sums[2][64];
    for (int phase = 0; phase < STAGES; ++phase) fetch(phase);
    for (int phase = 0; phase < phases; ++phase) {
        Stage& stage = stages[phase % STAGES];
        waitFor(&full[phase % STAGES], phase / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int half = 0; half < 2; ++half)
            #pragma unroll
            for (int k = 0; k < TILE_K; k += 16)
                multiply(sums[half], describe(&stage.Ms[64 * half][k]), describe(&stage.Ns[0][k]), phase + k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        fetch(phase + STAGES);
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        float (&sum)[64] = sums[half];
        int row = top + 64 * half + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = left + threadIdx.x % 4 * 2;
        #pragma unroll
        for (int j = 0; j < 16; ++j)
            if (col + 8 * j < cols) {
                if (row < rows) *(float2*)&P[(size_t)row * cols + col + 8 * j] = make_float2(sum[4 * j], sum[4 * j + 1]);
                if (row + 8 < rows) *(float2*)&P[(size_t)(row + 8) * cols + col + 8 * j] = make_float2(sum[4 * j + 2], sum[4 * j + 3]);
            }
    }
}
