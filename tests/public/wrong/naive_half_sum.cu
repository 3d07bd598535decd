#include <cuda_fp16.h>
__global__ void MatrixMulKernel(const float* A, const float* B, float* C, int N) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= N || c >= N) return;
    __half acc = __float2half(0.0f);
    for (int k = 0; k < N; ++k) acc = __hfma(__float2half(A[r * N + k]), __float2half(B[k * N + c]), acc);
    C[r * N + c] = __half2float(acc);
}
