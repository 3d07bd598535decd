#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}

#ifndef TILELAB
int main(void)
{
    float *M, *N, *P;
    const int n = 64;
    cudaMallocManaged(&M, n * n * sizeof(float));
    cudaMallocManaged(&N, n * n * sizeof(float));
    cudaMallocManaged(&P, n * n * sizeof(float));
    for (int i = 0; i < n * n; ++i) { M[i] = i % 7; N[i] = i % 5; }
    MatrixMulKernel<<<dim3(4, 4), dim3(16, 16)>>>(M, N, P, n);
    cudaDeviceSynchronize();
    printf("%f\n", P[0]);
    return 0;
}
#endif
