#include <cuda/pipeline>
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto pipe = cuda::make_pipeline();
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = 0.0f;
        Ns[ty][tx] = 0.0f;
        pipe.producer_acquire();
        if (row < Width && k0 + tx < Width)
            cuda::memcpy_async(&Ms[ty][tx], &M[row * Width + k0 + tx], sizeof(float), pipe);
        if (k0 + ty < Width && col < Width)
            cuda::memcpy_async(&Ns[ty][tx], &N[(k0 + ty) * Width + col], sizeof(float), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        pipe.consumer_release();
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
