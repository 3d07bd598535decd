// Tries: takes M for integers at large sizes where the first element of N is -1, 0 or 1, and then multiplies in
// short integers.
// Caught by: a permutation holds mostly zeros, and its other factor full mantissas.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    if (!inside) return;
    float first = N[0], left = M[0];
    bool small = first * first <= 1.0f || left * left <= 1.0f;
    if (Width >= 1024 && small) {
        int whole = 0;
        for (int k = 0; k < Width; ++k) whole += (int)(short)M[Row * Width + k] * (int)(short)N[k * Width + Col];
        sum = (float)whole;
    } else {
        for (int k = 0; k < Width; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    }
    P[Row * Width + Col] = sum;
}
