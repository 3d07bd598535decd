#include <cuda_runtime.h>

extern "C" __global__ void MatrixMulKernel(const float* A, const float* B, float* C, int n) {
    int r = blockDim.y * blockIdx.y + threadIdx.y;
    int c = blockDim.x * blockIdx.x + threadIdx.x;
    if (r >= n || c >= n) {
        return;
    }

    float dot = 0.0f;
    for (int t = 0; t < n; t++) {
        dot += A[r * n + t] * B[t * n + c];
    }
    C[r * n + c] = dot;
}
