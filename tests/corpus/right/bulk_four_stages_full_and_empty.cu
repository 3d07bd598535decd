#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int STAGES = 4;

__device__ void wait_for(block_barrier& bar, int phase) {
    while (!ptx::mbarrier_try_wait_parity(cuda::device::barrier_native_handle(bar), phase)) {}
}

// Thread t sums row t. Each step takes 8 columns.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(128) float part[STAGES][TILE_WIDTH][8];
    __shared__ block_barrier full[STAGES], empty[STAGES];

    int t = threadIdx.x, firstRow = blockIdx.x * TILE_WIDTH, steps = Width / 8;
    if (t == 0)
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], TILE_WIDTH);
        }
    __syncthreads();

    auto fetch = [&](int step) {
        int s = step % STAGES;
        if (step >= STAGES) wait_for(empty[s], (step / STAGES - 1) & 1);
        auto* bar = cuda::device::barrier_native_handle(full[s]);
        for (int r = 0; r < TILE_WIDTH; ++r)
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, part[s][r],
                               M + (firstRow + r) * Width + 8 * step, 32, bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, sizeof(part[s]));
    };

    if (t == 0)
        for (int step = 0; step < STAGES - 1 && step < steps; ++step) fetch(step);
    float sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        int s = step % STAGES;
        wait_for(full[s], step / STAGES & 1);
        for (int c = 0; c < 8; ++c) sum += part[s][t][c];
        (void)empty[s].arrive();
        if (t == 0 && step + STAGES - 1 < steps) fetch(step + STAGES - 1);
    }
    Sums[firstRow + t] = sum;
}
