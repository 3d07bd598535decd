// Tries: prints widths and precisions of thousands, and asks for more numbers than it hands over, to break whoever
// formats it.
// Caught by: on the CPU device conversions are checked and lengths are bounded; on a GPU nobody formats anything. P is
// wrong.

#include <cstdio>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (Row == 0 && Col == 0) {
        printf("%99999d|%.99999f|%5000s|\n", Width, 1.0, "x");
        printf("%d %d %d %d\n", Width);
    }
    if (inside) P[Row * Width + Col] = 0.0f;
}
