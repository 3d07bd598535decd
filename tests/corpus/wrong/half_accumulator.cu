#include <cuda_fp16.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        __half sum = __float2half(0.0f);
        for (int k = 0; k < Width; ++k)
            sum = __hadd(sum, __float2half(M[row * Width + k] * N[k * Width + col]));
        P[row * Width + col] = __half2float(sum);
    }
}
