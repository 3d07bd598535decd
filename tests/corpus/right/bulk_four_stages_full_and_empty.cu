#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int STAGES = 4;
constexpr int THREADS = TILE_WIDTH * TILE_WIDTH;

__device__ void wait_for(block_barrier& bar, int phase) {
    while (!ptx::mbarrier_try_wait_parity(cuda::device::barrier_native_handle(bar), phase)) {}
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ alignas(128) float As[STAGES][8][TILE_WIDTH];
    __shared__ alignas(128) float Bs[STAGES][8][TILE_WIDTH];
    __shared__ block_barrier full[STAGES], empty[STAGES];

    int tx = threadIdx.x, ty = threadIdx.y;
    int y0 = blockIdx.y * TILE_WIDTH, x0 = blockIdx.x * TILE_WIDTH;
    bool leader = tx == 0 && ty == 0;
    if (leader)
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], THREADS);
        }
    __syncthreads();

    // A step takes 8 columns of M, as 8 numbers of each row, and 8 rows of N.
    int steps = Width / 8;
    auto fetch = [&](int step) {
        int s = step % STAGES;
        if (step >= STAGES) wait_for(empty[s], (step / STAGES - 1) & 1);
        auto* bar = cuda::device::barrier_native_handle(full[s]);
        for (int r = 0; r < TILE_WIDTH; ++r)
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, &As[s][0][0] + 8 * r,
                               M + (y0 + r) * Width + 8 * step, 32, bar);
        for (int k = 0; k < 8; ++k)
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, Bs[s][k], N + (8 * step + k) * Width + x0,
                               TILE_WIDTH * 4, bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, 64 * TILE_WIDTH);
    };

    if (leader)
        for (int step = 0; step < STAGES - 1 && step < steps; ++step) fetch(step);
    float sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        int s = step % STAGES;
        wait_for(full[s], step / STAGES & 1);
        const float* row = &As[s][0][0] + 8 * ty;
        for (int k = 0; k < 8; ++k) sum += row[k] * Bs[s][k][tx];
        (void)empty[s].arrive();
        if (leader && step + STAGES - 1 < steps) fetch(step + STAGES - 1);
    }
    P[(y0 + ty) * Width + x0 + tx] = sum;
}
