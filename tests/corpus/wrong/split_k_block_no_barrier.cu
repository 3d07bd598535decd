//!tilelab block=(TILE_WIDTH, TILE_WIDTH, 2) grid=(ceil(Width/TILE_WIDTH), ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float other[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = row < Width && col < Width;
    float sum = 0.0f;
    for (int k = threadIdx.z; inside && k < Width; k += 2)
        sum += M[row * Width + k] * N[k * Width + col];
    if (threadIdx.z == 1)
        other[threadIdx.y][threadIdx.x] = sum;
    if (threadIdx.z == 0 && inside)
        P[row * Width + col] = sum + other[threadIdx.y][threadIdx.x];
}
