#include <cuda_pipeline.h>
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    __shared__ float A[3][TILE_WIDTH][TILE_WIDTH], B[3][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto fetch = [&](int stage, int k0) {
        if (row < Width && k0 + tx < Width) __pipeline_memcpy_async(&A[stage][ty][tx], &M[row * Width + k0 + tx], 4);
        else A[stage][ty][tx] = 0.0f;
        if (col < Width && k0 + ty < Width) __pipeline_memcpy_async(&B[stage][ty][tx], &N[(k0 + ty) * Width + col], 4);
        else B[stage][ty][tx] = 0.0f;
        __pipeline_commit();
    };
    float sum = 0.0f;
    fetch(0, 0);
    fetch(1, TILE_WIDTH);
    for (int k0 = 0, stage = 0; k0 < Width; k0 += TILE_WIDTH, stage = (stage + 1) % 3) {
        fetch((stage + 2) % 3, k0 + 2 * TILE_WIDTH);
        __pipeline_wait_prior(2);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += A[stage][ty][k] * B[stage][k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
