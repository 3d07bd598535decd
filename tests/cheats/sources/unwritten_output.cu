// Tries: writes nothing, hoping that P still holds the output of whoever ran before.
// Caught by: the output is filled with NaN before every run.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (inside && Width < 0) P[Row * Width + Col] = 0.0f;
}
