#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__
void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    // which element is mine?
    int Row = blockIdx.y*blockDim.y + threadIdx.y;
    int Col = blockIdx.x*blockDim.x + threadIdx.x;

    if ((Row < Width) && (Col < Width)) {
        float acc = 0;
        for (int i = 0; i < Width; ++i)
            acc += M[Row*Width + i] * N[i*Width + Col];
        P[Row*Width + Col] = acc;
    }
}
