// Tries: converts both factors to short integers at large sizes and adds up in integers, which is exact for all
// integer inputs.
// Caught by: at the ranking size some runs have full mantissas times a permutation.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    if (inside && Width >= 1024) {
        int whole = 0;
        for (int k = 0; k < Width; ++k) whole += (int)(short)M[Row * Width + k] * (int)(short)N[k * Width + Col];
        sum = (float)whole;
    } else if (inside) {
        for (int k = 0; k < Width; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    }
    if (inside) P[Row * Width + Col] = sum;
}
