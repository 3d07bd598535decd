#include <stdio.h>
#define N_DEFAULT 1024

__global__ void vecAdd(float* a, float* b, float* c, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    if (i == 0) printf("vecAdd of %d\n", n);
}

__global__ void matCopy(const float* from, float* to, int rows, int cols) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows && c < cols) to[r * cols + c] = from[r * cols + c];
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if ((row < width) & (col < width)) {
        float Pvalue = 0;
        for (int k = 0; k < width; ++k) Pvalue += M[row * width + k] * N[k * width + col];
        P[row * width + col] = Pvalue;
    }
}
