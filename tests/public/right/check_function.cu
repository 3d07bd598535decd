#include <stdio.h>
static void check(cudaError_t e, const char* file, int line) {
    if (e != cudaSuccess) printf("%s in %s:%d\n", cudaGetErrorString(e), file, line);
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < Width && c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[r * Width + k] * N[k * Width + c];
        P[r * Width + c] = s;
    }
}
