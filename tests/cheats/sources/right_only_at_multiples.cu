// Tries: counts the phases without the last, partial one: right wherever Width is a multiple of the tile, as all
// large sizes are.
// Caught by: the small cases, most of which are no multiples.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = 0.0f;
    int whole = Width / TILE_WIDTH * TILE_WIDTH;
    if (inside)
        for (int k = 0; k < whole; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    if (inside) P[Row * Width + Col] = sum;
}
