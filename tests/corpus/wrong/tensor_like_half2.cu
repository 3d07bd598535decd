#include <cuda_fp16.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    __half2 sum = __float2half2_rn(0.0f);
    for (int k = 0; k < Width; k += 2) {
        bool both = k + 1 < Width;
        __half2 a = __floats2half2_rn(M[row * Width + k], both ? M[row * Width + k + 1] : 0.0f);
        __half2 b = __floats2half2_rn(N[k * Width + col], both ? N[(k + 1) * Width + col] : 0.0f);
        sum = __hfma2(a, b, sum);
    }
    P[row * Width + col] = __low2float(sum) + __high2float(sum);
}
