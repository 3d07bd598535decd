typedef unsigned long long u64;

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Each thread's copies arrive for it: the barrier counts one arrival of each thread.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float tM[2][TILE_WIDTH][TILE_WIDTH], tN[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ u64 full[2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;

    if (tx == 0 && ty == 0) {
        for (int s = 0; s < 2; ++s)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(smem(full + s)), "r"(TILE_WIDTH * TILE_WIDTH));
    }
    __syncthreads();

    auto fetch = [&](int k0, int s) {
        if (row < Width && k0 + tx < Width)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(smem(&tM[s][ty][tx])), "l"(M + row * Width + k0 + tx) : "memory");
        else
            tM[s][ty][tx] = 0.0f;
        if (col < Width && k0 + ty < Width)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(smem(&tN[s][ty][tx])), "l"(N + (k0 + ty) * Width + col) : "memory");
        else
            tN[s][ty][tx] = 0.0f;
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(smem(full + s)) : "memory");
    };

    float acc = 0.0f;
    int s = 0, parity = 0;
    fetch(0, 0);
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (k0 + TILE_WIDTH < Width) fetch(k0 + TILE_WIDTH, s ^ 1);
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(smem(full + s)), "r"(parity) : "memory");
        for (int k = 0; k < TILE_WIDTH; ++k) acc += tM[s][ty][k] * tN[s][k][tx];
        __syncthreads();
        parity ^= s;
        s ^= 1;
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
