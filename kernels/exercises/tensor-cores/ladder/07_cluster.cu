// Idea: blocks that stay, in clusters. There are as many blocks as multiprocessors, each for several tiles of P. Two
// blocks of a cluster need the same tile of N. Each copies half of it, to both (multicast).
//
// Over the rung below: the copies for the next tile begin while the last one is stored. We choose the order of the tiles.
// So blocks that run at the same time find each other's tiles in the L2 cache. A third less comes from there. A stage is
// empty only when both blocks have multiplied it.

#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

#define TILE_M 128  // rows of P per block
#define TILE_N 256  // columns
#define TILE_K 64   // of a tile
#define STAGES 4
#define PARTS 2     // blocks of a cluster, each of which copies this part of N's tile
//!tilelab block=(384) grid=(PARTS*min(66, 1+rows/1000*65, ceil(rows/(PARTS*TILE_M))*ceil(cols/TILE_N))) cluster=(PARTS) shared=(STAGES*(TILE_M+TILE_N)*TILE_K*2)

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

// Arrives at the barrier at the same place in another block of the cluster.
__device__ void arriveAt(uint64_t* barrier, int block) {
    asm volatile("{\n\t"
                 ".reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
                 "}" ::"r"(sharedAddress(barrier)), "r"(block) : "memory");
}

__device__ void syncCluster() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Copies the box of a tensor map that begins at column x and row y.
__device__ void copyBox(void* to, const CUtensorMap& map, int x, int y, uint64_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(sharedAddress(to)), "l"(&map), "r"(sharedAddress(barrier)), "r"(x), "r"(y) : "memory");
}

// The same for all blocks of the cluster. In each, box and bytes arrive at the same place, and at the same barrier.
__device__ void copyBoxToAll(void* to, const CUtensorMap& map, int x, int y, uint64_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%3, %4}], [%2], %5;"
                 ::"r"(sharedAddress(to)), "l"(&map), "r"(sharedAddress(barrier)), "r"(x), "r"(y),
                 "h"((uint16_t)((1 << PARTS) - 1)) : "memory");
}

// Describes a tile whose lines of 128 bytes are swizzled: groups of 8 lines are 1,024 bytes apart.
__device__ uint64_t describe(const void* tile) {
    return (sharedAddress(tile) & 0x3FFFF) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

#define S4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)

// sum = a * b, or sum += a * b: 64 rows of a by 256 columns of b, 16 deep.
__device__ __forceinline__ void multiply(float (&sum)[128], uint64_t a, uint64_t b, bool add) {
    asm volatile("{\n\t"
        ".reg .pred add;\n\t"
        "setp.ne.b32 add, %130, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, add, 1, 1, 0, 0;\n\t"
        "}"
        : S16(0), S16(16), S16(32), S16(48), S16(64), S16(80), S16(96), S16(112)
        : "l"(a), "l"(b), "r"((int)add));
}

struct Stage {
    __nv_bfloat16 Ms[TILE_M][TILE_K];
    __nv_bfloat16 Ns[TILE_N][TILE_K];
};

struct Tile {
    int top, left;
};

// The tiles of P in bands of 8: down each column of a band before the next column.
__device__ Tile tileOf(int number, int rows, int cols) {
    int down = (rows + TILE_M * PARTS - 1) / (TILE_M * PARTS), across = (cols + TILE_N - 1) / TILE_N;
    int band = number / (8 * across), height = min(8, down - 8 * band), inBand = number - band * 8 * across;
    return {(8 * band + inBand % height) * TILE_M * PARTS, inBand / height * TILE_N};
}

__global__ void __launch_bounds__(384, 1) tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols,
                              const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN) {
    extern __shared__ __align__(1024) Stage stages[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            initBarrier(&full[i], 1);
            initBarrier(&empty[i], 2 * PARTS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    syncCluster();  // no block's barrier is used before it exists
    int group = threadIdx.x / 128, lane = threadIdx.x % 128;
    int rank = blockIdx.x % PARTS;
    int phases = (depth + TILE_K - 1) / TILE_K;
    int tiles = ((rows + TILE_M * PARTS - 1) / (TILE_M * PARTS)) * ((cols + TILE_N - 1) / TILE_N);
    int at = 0, parity = 0;  // the present stage, and which of its phases
    auto next = [&] {
        if (++at == STAGES) {
            at = 0;
            parity ^= 1;
        }
    };
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int number = blockIdx.x / PARTS; number < tiles && lane == 0; number += gridDim.x / PARTS) {
            Tile tile = tileOf(number, rows, cols);
            for (int phase = 0; phase < phases; ++phase, next()) {
                waitFor(&empty[at], parity ^ 1);
                expectBytes(&full[at], sizeof(Stage));
                copyBox(stages[at].Ms, mapM, phase * TILE_K, tile.top + rank * TILE_M, &full[at]);
                int part = rank * (TILE_N / PARTS);
                copyBoxToAll(stages[at].Ns[part], mapN, phase * TILE_K, tile.left + part, &full[at]);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int half = group - 1;
        float sum[128];
        for (int number = blockIdx.x / PARTS; number < tiles; number += gridDim.x / PARTS) {
            Tile tile = tileOf(number, rows, cols);
            int before = 0;
            for (int phase = 0; phase < phases; ++phase, next()) {
                waitFor(&full[at], parity);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                #pragma unroll
                for (int k = 0; k < TILE_K; k += 16)
                    multiply(sum, describe(&stages[at].Ms[64 * half][k]), describe(&stages[at].Ns[0][k]), phase + k);
                // The products of the phase before are complete now, and its stage is free.
                asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (phase && lane < PARTS) arriveAt(&empty[before], lane);
                before = at;
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (lane < PARTS) arriveAt(&empty[before], lane);
            int row = tile.top + rank * TILE_M + 64 * half + lane / 32 * 16 + lane % 32 / 4, col = tile.left + lane % 4 * 2;
            #pragma unroll
            for (int j = 0; j < 32; ++j)
                if (col + 8 * j < cols) {
                    if (row < rows) *(float2*)&P[(size_t)row * cols + col + 8 * j] = make_float2(sum[4 * j], sum[4 * j + 1]);
                    if (row + 8 < rows) *(float2*)&P[(size_t)(row + 8) * cols + col + 8 * j] = make_float2(sum[4 * j + 2], sum[4 * j + 3]);
                }
        }
    }
    syncCluster();  // no block ends while another one still arrives at its barriers
}
