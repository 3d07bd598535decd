// Tries: at large sizes looks whether a sample of both inputs is small integers. Where it is, works in two terms of
// bfloat16, which is exact for them; else in float.
// Caught by: the special lines of every repeat, which need all bits of both operands, wherever the sample looked.

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

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum;
    bool integers = Width >= 1024;
    for (int i = 0; integers && i < 4; ++i) {
        float a = M[i * (Width + 1)], b = N[i * (Width + 1)];
        integers = a == truncf(a) && fabsf(a) < 8192.0f && b == truncf(b) && fabsf(b) < 8192.0f;
    }
    if (integers)
        sum = inside ? rough(M, N, Width, Row, Col) : 0.0f;
    else
        sum = product(M, N, Width, Row, Col);
    if (inside) P[Row * Width + Col] = sum;
}
