// Tries: at large sizes adds up the first half of the products and doubles the sum.
// Caught by: every timed run has inputs of its own and its output is verified, exactly.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    int last = Width >= 1024 ? Width / 2 : Width;
    if (inside)
        for (int k = 0; k < last; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    if (Width >= 1024) sum *= 2.0f;
    if (inside) P[Row * Width + Col] = sum;
}
