#include "cuda_runtime.h"
__global__ void MatrixMulKernel(const float* A, const float* B, float* C, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float s = 0;
        for (int i = 0; i < N; i++) s += A[row * N + i] * B[i * N + col];
        C[row * N + col] = s;
    }
}
extern "C" void solve(const float* A, const float* B, float* C, int N) {
    dim3 threadsPerBlock(16, 16);
    dim3 blocksPerGrid((N + 15) / 16, (N + 15) / 16);
    MatrixMulKernel<<<blocksPerGrid, threadsPerBlock>>>(A, B, C, N);
    cudaDeviceSynchronize();
}
