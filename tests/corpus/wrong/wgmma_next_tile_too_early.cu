#include <cuda_bf16.h>

__device__ unsigned long long described(const void* p) {
    return ((unsigned)__cvta_generic_to_shared(p) >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32;
}

// The threads of a warpgroup hold a tile of 64 x 64. Pieces of 8 x 8 elements lie one after the other.
#define MULTIPLY(d, a, b, adds) asm volatile( \
    "{.reg .pred p; setp.ne.b32 p, %34, 0;\n" \
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13," \
    " %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;}" \
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) \
    : "l"(described(a)), "l"(described(b)), "r"(adds))

__global__ void tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols) {
    __shared__ __align__(128) __nv_bfloat16 a[64 * 16], b[64 * 16];
    int t = threadIdx.x, y0 = blockIdx.y * 64, x0 = blockIdx.x * 64;
    float d[32] = {};
    for (int k0 = 0; k0 < depth; k0 += 16) {
        for (int i = t; i < 64 * 16; i += 128) {
            int row = i / 16, k = i % 16, at = (row / 8 * 2 + k / 8) * 64 + row % 8 * 8 + k % 8;
            __nv_bfloat16 zero = __float2bfloat16(0.0f);
            a[at] = y0 + row < rows && k0 + k < depth ? M[(y0 + row) * depth + k0 + k] : zero;
            b[at] = x0 + row < cols && k0 + k < depth ? N[(k0 + k) * cols + x0 + row] : zero;
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        MULTIPLY(d, a, b, 1);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 32; ++i) {
        int y = y0 + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, x = x0 + i / 4 * 8 + t % 4 * 2 + i % 2;
        if (y < rows && x < cols) P[y * cols + x] = d[i];
    }
}
