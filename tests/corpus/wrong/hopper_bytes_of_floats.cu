#include <cuda.h>
#include <cuda_bf16.h>

#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef STAGES
#define STAGES 2
#endif

#define TILE_M 64  // rows of a product of wgmma
#define TILE_K 64  // 128 bytes of bfloat16: the width of the swizzle
#define BYTES (sizeof(float) * TILE_K * (TILE_M + TILE_N))

typedef unsigned long long Barrier;

struct Stage {
    __nv_bfloat16 M[TILE_M][TILE_K];
    __nv_bfloat16 N[TILE_N][TILE_K];
};

__device__ unsigned shared(const void* p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void start(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(arrivals)
                 : "memory");
}

// Arrives, and lets the phase also wait for so many bytes.
__device__ void expect(Barrier* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(Barrier* barrier, int parity) {
    asm volatile(
        "{.reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra AGAIN;}"
        ::"r"(shared(barrier)), "r"(parity) : "memory");
}

// Begins to copy the box at column x and row y of a tensor. The copy reports its bytes to a barrier.
__device__ void load(void* tile, const CUtensorMap* map, int x, int y, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(shared(tile)), "l"(map), "r"(x), "r"(y), "r"(shared(barrier)) : "memory");
}

// Describes a tile with a swizzle of 128 bytes: groups of 8 rows are 1,024 bytes apart.
__device__ unsigned long long described(const void* tile) {
    return (shared(tile) >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// Begins to add a product to the sums: 64 rows of M and 64 columns of N, both 16 deep.
__device__ void multiply(float* d, unsigned long long m, unsigned long long n) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(m), "l"(n));
}

__global__ void hopperProduct(
    const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN, float* P, int rows, int depth,
    int cols) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage* stages = (Stage*)memory;
    Barrier* full = (Barrier*)(stages + STAGES);
    int top = blockIdx.y * TILE_M, left = blockIdx.x * TILE_N;
    int phases = (depth + TILE_K - 1) / TILE_K;

    // Begins to copy the tiles of a phase. What lies outside of a matrix arrives as 0.
    auto fetch = [&](int phase) {
        int stage = phase % STAGES;
        expect(&full[stage], BYTES);
        load(stages[stage].M, &mapM, phase * TILE_K, top, &full[stage]);
        load(stages[stage].N, &mapN, phase * TILE_K, left, &full[stage]);
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage)
            start(&full[stage], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the copy engine sees the barriers
        for (int phase = 0; phase < min(STAGES, phases); ++phase)
            fetch(phase);
    }
    __syncthreads();  // all threads see the barriers

    float sums[TILE_N / 2] = {};
    for (int phase = 0; phase < phases; ++phase) {
        Stage& stage = stages[phase % STAGES];
        wait(&full[phase % STAGES], phase / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TILE_K; k += 16)
            multiply(sums, described(&stage.M[0][k]), described(&stage.N[0][k]));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        // The products of all four warps are over, so their stage can be filled again.
        if (threadIdx.x == 0 && phase + STAGES < phases)
            fetch(phase + STAGES);
    }

    // Each thread has two neighbours in two rows of each 8 columns.
    int lane = threadIdx.x % 32, row = top + threadIdx.x / 32 * 16 + lane / 4, col = left + lane % 4 * 2;
    for (int i = 0; i < TILE_N / 2; ++i) {
        int y = row + i / 2 % 2 * 8, x = col + i / 4 * 8 + i % 2;
        if (y < rows && x < cols)
            P[y * cols + x] = sums[i];
    }
}
