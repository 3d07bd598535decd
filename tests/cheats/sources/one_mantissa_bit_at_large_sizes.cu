// Tries: drops the last of the 24 bits of each element of M at large sizes.
// Caught by: at the ranking size some runs have odd mantissas times a permutation, so that the last bit shows.

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
            if (Width >= 1024) a = __int_as_float(__float_as_int(a) & ~1);
            sum += a * b;
        }
    if (inside) P[Row * Width + Col] = sum;
}
