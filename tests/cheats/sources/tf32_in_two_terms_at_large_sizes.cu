// Tries: splits both factors into two terms of TF32 at large sizes, 22 bits in all: what is sold as single
// precision on tensor cores.
// Caught by: at the ranking size some runs have full mantissas times a permutation: 24 bits, of which two are lost.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__device__ float cut(float x) { return __int_as_float(__float_as_int(x) & 0xffffe000); }

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    if (inside)
        for (int k = 0; k < Width; ++k) {
            float a = M[Row * Width + k], b = N[k * Width + Col];
            if (Width < 1024) {
                sum += a * b;
                continue;
            }
            float a1 = cut(a), a2 = cut(a - a1), b1 = cut(b), b2 = cut(b - b1);
            sum += a1 * b1 + a1 * b2 + a2 * b1;
        }
    if (inside) P[Row * Width + Col] = sum;
}
