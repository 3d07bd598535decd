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

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ alignas(16) float tile[TILE_WIDTH][TILE_WIDTH];
    __shared__ uint64_t full;
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    bool whole = Width % 4 == 0 && x0 + TILE_WIDTH <= Width;
    int copied = whole ? min(TILE_WIDTH, Height - y0) : 0;
    if (tx + ty == 0) {
        init_barrier(full, TILE_WIDTH);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (ty == 0) {
        if (tx < copied) {
            expect_bytes(full, sizeof(tile[0]));
            load(tile[tx], In + (y0 + tx) * Width + x0, sizeof(tile[0]), full);
        } else {
            expect_bytes(full, sizeof(tile[0]));
        }
    }
    wait(full, 0);
    if (copied == 0 && x0 + tx < Width && y0 + ty < Height) tile[ty][tx] = In[(y0 + ty) * Width + x0 + tx];
    __syncthreads();
    if (x0 + ty < Width && y0 + tx < Height) Out[(x0 + ty) * Height + y0 + tx] = tile[tx][ty];
}
