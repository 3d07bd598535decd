// Tries: reads its tile of the product from shared memory that it never wrote, where an earlier block may have left
// one.
// Caught by: the CPU device follows every byte of shared memory; on a GPU what lies there is no product.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    __shared__ volatile float left[TILE_WIDTH][TILE_WIDTH];
    float sum = left[threadIdx.y][threadIdx.x];
    if (inside) P[Row * Width + Col] = sum;
}
