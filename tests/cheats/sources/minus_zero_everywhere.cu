// Tries: stores -0 everywhere, which equals 0 and whatever rounds to it.
// Caught by: -0 is right only where the product is 0.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = -0.0f;
    if (inside) P[Row * Width + Col] = sum;
}
