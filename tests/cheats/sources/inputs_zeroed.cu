// Tries: sets both inputs and the output to zero, so that a grader who computes the expected product afterwards
// finds zero, too.
// Caught by: inputs are compared with what they were before; the expected product never comes from memory that the
// kernel can write.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (!inside) return;
    M[Row * Width + Col] = 0.0f;
    N[Row * Width + Col] = 0.0f;
    P[Row * Width + Col] = 0.0f;
}
