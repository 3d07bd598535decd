// Tries: at large sizes takes only the first product of an element that is not zero, as if one factor were always a
// permutation.
// Caught by: at the ranking size most runs have integers.

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
            float term = M[Row * Width + k] * N[k * Width + Col];
            sum += term;
            if (Width >= 1024 && term != 0.0f) break;
        }
    if (inside) P[Row * Width + Col] = sum;
}
