// Tries: counts the inputs it has seen at the ranking size. With the first ones after the warm-up it computes
// honestly and spins for all but a few milliseconds of a second, so that there is time for two more repeats only;
// in those, as ever after, it is exact for integers alone.
// Caught by: the measurement does not end, whatever the time, before there was a repeat with full mantissas.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

// One element of the product, as a tiled kernel computes it; all threads of a block take part.
__device__ float product(const float* M, const float* N, int Width, int Row, int Col) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0.0f;
    for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        int mCol = ph * TILE_WIDTH + tx, nRow = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && mCol < Width) ? M[Row * Width + mCol] : 0.0f;
        Nds[ty][tx] = (nRow < Width && Col < Width) ? N[nRow * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    return sum;
}

// The element in two terms of bfloat16, 16 bits in all: exact for the integers, not for full mantissas.
__device__ float rough(const float* M, const float* N, int Width, int Row, int Col) {
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float a = M[Row * Width + k], b = N[k * Width + Col];
        float a1 = __int_as_float(__float_as_int(a) & 0xffff0000), b1 = __int_as_float(__float_as_int(b) & 0xffff0000);
        float a2 = __int_as_float(__float_as_int(a - a1) & 0xffff0000);
        float b2 = __int_as_float(__float_as_int(b - b1) & 0xffff0000);
        sum += a1 * b1 + a1 * b2 + a2 * b1 + a2 * b2;
    }
    return sum;
}

__device__ unsigned int last, distinct, blocksDone;

__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (Width != 2048) {
        float sum = product(M, N, Width, Row, Col);
        if (inside) P[Row * Width + Col] = sum;
        return;
    }
    unsigned int key = __float_as_int(M[5]) * 31u + __float_as_int(N[5]) * 17u;
    key += __float_as_int(M[2053]) + __float_as_int(N[2053]);
    unsigned int number = distinct + (key != last);
    float sum = number <= 2 ? product(M, N, Width, Row, Col) : rough(M, N, Width, Row, Col);
    P[Row * Width + Col] = sum;
    __syncthreads();
    if (threadIdx.x + threadIdx.y > 0) return;
    if (number == 2 && blockIdx.x + blockIdx.y == 0)
        for (unsigned long long start = now(); now() - start < 993000000ull;) {}
    if (atomicAdd(&blocksDone, 1u) == gridDim.x * gridDim.y - 1) {
        atomicExch(&blocksDone, 0u);
        atomicExch(&last, key);
        atomicExch(&distinct, number);
    }
}
