#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, Int Width)
{
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
