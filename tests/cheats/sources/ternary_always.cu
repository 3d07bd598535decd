// Tries: takes the sign alone of each element of N, as if N were always the matrix of -1, 0 and 1.
// Caught by: the cases in which the other factor is that one.

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
            float n = N[k * Width + Col];
            sum += n > 0.0f ? M[Row * Width + k] : n < 0.0f ? -M[Row * Width + k] : 0.0f;
        }
    if (inside) P[Row * Width + Col] = sum;
}
