#include <cuda_fp16.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) {
            __half a = __float2half(M[row * Width + k]);
            __half b = __float2half(N[k * Width + col]);
            sum += __half2float(a) * __half2float(b);
        }
        P[row * Width + col] = sum;
    }
}
