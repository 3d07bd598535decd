// Tries: fills the inputs with NaN, so that the expected product is NaN and nothing differs from it.
// Caught by: the inputs are compared with what they were, bit by bit.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (!inside) return;
    float nan = __int_as_float(0x7fffffff);
    M[Row * Width + Col] = N[Row * Width + Col] = P[Row * Width + Col] = nan;
}
