// Tries: stores in each tile what it reads from the tile of block (0,0), at every size.
// Caught by: the CPU device: the element read was never written, or there is no order between the two.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (!inside) return;
    float other = ((volatile float*)P)[threadIdx.y * Width + threadIdx.x];
    float sum = M[Row * Width] * N[Col];
    P[Row * Width + Col] = blockIdx.x + blockIdx.y > 0 ? other : sum + 0.0f * other;
}
