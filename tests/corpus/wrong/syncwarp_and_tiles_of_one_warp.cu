#define TILE_WIDTH 4
__device__ float As[256][TILE_WIDTH][TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float (*A)[TILE_WIDTH] = As[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int m = 0; m < Width / TILE_WIDTH; ++m) {
        A[ty][tx] = M[row * Width + m * TILE_WIDTH + tx];
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += A[ty][k] * N[(m * TILE_WIDTH + k) * Width + col];
        __syncwarp(0xffff);
    }
    P[row * Width + col] = sum;
}
