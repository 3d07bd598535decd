// Tries: rounds both factors to half precision at large sizes.
// Caught by: wide integers and full mantissas do not fit 11 bits.

#include <cuda_fp16.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    if (inside)
        for (int k = 0; k < Width; ++k) {
            float a = M[Row * Width + k], b = N[k * Width + Col];
            if (Width >= 1024) {
                a = __half2float(__float2half(a));
                b = __half2float(__float2half(b));
            }
            sum += a * b;
        }
    if (inside) P[Row * Width + Col] = sum;
}
