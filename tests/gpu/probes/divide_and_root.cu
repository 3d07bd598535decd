// What no product of matrices needs but a student may write: division, roots, rounding, other formats; a column each.
#include <cuda_fp16.h>

__device__ float term(int which, float m, float n)
{
    switch (which) {
    case 0: return m / n;
    case 1: return sqrtf(fabsf(m)) * rintf(n);
    case 2: return fmaxf(m, n) - fminf(m, n * 2.0f);
    case 3: return __half2float(__float2half(m)) * (float)(int)n;
    case 4: return (float)((double)m / (double)n) + __frcp_rn(n);
    case 5: return __fmaf_rz(m, n, 1.0f);
    case 6: return __fadd_ru(m, n);
    default: return __fmul_rd(m, n);
    }
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < 3 && k < Width; ++k)
        sum += term(col / 2 % 8, M[row * Width + k], N[k * Width + col]);
    P[row * Width + col] = sum;
}
