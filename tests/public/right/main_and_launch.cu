#include <stdio.h>
#include <cuda_runtime.h>
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < Width && c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[r * Width + k] * N[k * Width + c];
        P[r * Width + c] = s;
    }
}
int main() {
    int n = 256;
    float *a, *b, *c;
    cudaMallocManaged(&a, n * n * sizeof(float));
    cudaMallocManaged(&b, n * n * sizeof(float));
    cudaMallocManaged(&c, n * n * sizeof(float));
    MatrixMulKernel<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
    cudaDeviceSynchronize();
    printf("%f\n", c[0]);
}
