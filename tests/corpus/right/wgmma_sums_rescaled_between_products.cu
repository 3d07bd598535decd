#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Pieces of 8 x 8 elements lie one after the other: first along the depth, then along rows or columns.
__device__ unsigned long long described(const void* p) { return (smem(p) >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32; }

#define MULTIPLY(d, a, b, adds) asm volatile( \
    "{.reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " \
    "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
    : "l"(described(a)), "l"(described(b)), "r"(adds))
#define warpgroup_arrive() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define commit() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define wait_for_all_but(groups) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory")
#define proxy_fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
// Keeps the compiler from moving a write to the sums past a fence.
#define PIN(d) asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory")

// An element of a matrix, or 0 outside.
__device__ bf16 at(const bf16* m, int y, int x, int height, int width) {
    return y < height && x < width ? m[y * width + x] : __float2bfloat16(0.0f);
}

//!tilelab block=128 grid=(ceil(cols/8), ceil(rows/64))
__global__ void tensorProduct(const bf16* M, const bf16* N, float* P, int rows, int depth, int cols) {
    __shared__ alignas(128) bf16 a[1024], b[128];
    int t = threadIdx.x, top = blockIdx.y * 64, left = blockIdx.x * 8;
    float d[4] = {};
    for (int k0 = 0; k0 < depth; k0 += 16) {
        float scale = k0 / 16 % 2 ? 2.0f : 0.5f;
        for (int i = t; i < 1024; i += 128) a[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] =
            at(M, top + i / 16, k0 + i % 16, rows, depth) * __float2bfloat16(scale);
        b[t / 64 * 64 + t % 8 * 8 + t / 8 % 8] = at(N, k0 + t / 8, left + t % 8, depth, cols);
        proxy_fence();
        __syncthreads();
        for (int i = 0; i < 4; ++i) d[i] *= scale;
        PIN(d);
        warpgroup_arrive();
        MULTIPLY(d, a, b, 1);
        commit();
        wait_for_all_but(0);
        for (int i = 0; i < 4; ++i) d[i] /= scale;
        __syncthreads();
    }
    int row = top + t / 32 * 16 + t % 32 / 4, col = left + t % 4 * 2;
    for (int i = 0; i < 4; ++i) {
        int y = row + i / 2 * 8, x = col + i % 2;
        if (y < rows && x < cols) P[y * cols + x] = d[i];
    }
}
