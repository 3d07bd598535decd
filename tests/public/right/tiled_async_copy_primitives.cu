#include <cuda_pipeline.h>
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    auto fetch = [&](int stage, int ph) {
        int mc = ph * TILE_WIDTH + tx, nr = ph * TILE_WIDTH + ty;
        if (row < Width && mc < Width) __pipeline_memcpy_async(&Ms[stage][ty][tx], &M[row * Width + mc], 4);
        else Ms[stage][ty][tx] = 0.0f;
        if (nr < Width && col < Width) __pipeline_memcpy_async(&Ns[stage][ty][tx], &N[nr * Width + col], 4);
        else Ns[stage][ty][tx] = 0.0f;
        __pipeline_commit();
    };
    fetch(0, 0);
    float sum = 0;
    for (int ph = 0; ph < phases; ++ph) {
        if (ph + 1 < phases) {
            fetch((ph + 1) % 2, ph + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ph % 2][ty][k] * Ns[ph % 2][k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
