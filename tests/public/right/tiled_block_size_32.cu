#include <cuda_runtime.h>
#define BLOCK_SIZE 32

__global__ void MatrixMulKernel(float* A, float* B, float* C, int wA) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float acc = 0.0f;
    for (int m = 0; m < (wA + BLOCK_SIZE - 1) / BLOCK_SIZE; ++m) {
        int ka = m * BLOCK_SIZE + threadIdx.x;
        int kb = m * BLOCK_SIZE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < wA && ka < wA ? A[row * wA + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = kb < wA && col < wA ? B[kb * wA + col] : 0.0f;
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) acc += As[threadIdx.y][e] * Bs[e][threadIdx.x];
        __syncthreads();
    }
    if (row < wA && col < wA) C[row * wA + col] = acc;
}
