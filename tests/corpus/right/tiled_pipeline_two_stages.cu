#include <cuda_pipeline.h>

__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    __shared__ float A[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float B[2][TILE_WIDTH][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto fetch = [&](int stage, int k0) {
        if (row < Width && k0 + tx < Width)
            __pipeline_memcpy_async(&A[stage][ty][tx], &M[row * Width + k0 + tx], sizeof(float));
        else
            A[stage][ty][tx] = 0.0f;
        if (col < Width && k0 + ty < Width)
            __pipeline_memcpy_async(&B[stage][ty][tx], &N[(k0 + ty) * Width + col], sizeof(float));
        else
            B[stage][ty][tx] = 0.0f;
        __pipeline_commit();
    };
    float sum = 0.0f;
    int stage = 0;
    fetch(0, 0);
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        fetch(stage ^ 1, k0 + TILE_WIDTH);
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += A[stage][ty][k] * B[stage][k][tx];
        __syncthreads();
        stage ^= 1;
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
