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

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ alignas(16) float tile[TILE_WIDTH][TILE_WIDTH];
    __shared__ uint64_t full;
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    bool whole = Width % 4 == 0 && Height % 4 == 0 && x0 + TILE_WIDTH <= Width && y0 + TILE_WIDTH <= Height;
    if (!whole) {
        if (x0 + tx < Width && y0 + ty < Height) Out[(x0 + tx) * Height + y0 + ty] = In[(y0 + ty) * Width + x0 + tx];
        return;
    }
    if (tx + ty == 0) {
        init_barrier(full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect_bytes(full, sizeof(tile));
        for (int row = 0; row < TILE_WIDTH; ++row) load(tile[row], In + (y0 + row) * Width + x0, sizeof(tile[0]), full);
    }
    __syncthreads();
    if (ty == 0) wait(full, 0);
    float value = tile[tx][ty];
    __syncthreads();
    tile[ty][tx] = value;
    proxy_fence();
    __syncthreads();
    if (tx == 0) {
        store(Out + (x0 + ty) * Height + y0, tile[ty], sizeof(tile[0]));
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
