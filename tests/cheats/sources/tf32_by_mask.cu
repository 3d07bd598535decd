// Tries: cuts both factors to the 10 bits after the point that TF32 has.
// Caught by: the permutation cases, whose numbers have 23.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__device__ float cut(float x) { return __int_as_float(__float_as_int(x) & 0xffffe000); }

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    if (inside)
        for (int k = 0; k < Width; ++k) {
            float a = M[Row * Width + k], b = N[k * Width + Col];
            sum += cut(a) * cut(b);
        }
    if (inside) P[Row * Width + Col] = sum;
}
