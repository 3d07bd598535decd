#include <stdio.h>
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
} int main()
{
    float *M, *N, *P;
    int n = 512;
    size_t bytes = n * n * sizeof(float);
    cudaMalloc(&M, bytes);
    cudaMalloc(&N, bytes);
    cudaMalloc(&P, bytes);
    MatrixMulKernel<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(M, N, P, n);
    cudaDeviceSynchronize();
    printf("done\n");
    return 0;
}
