#include <cstdio>
#include <cassert>
#define DEBUG 1
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
#if DEBUG
    if (i == 0 && j == 0)
        printf("grid %u x %u, block %u x %u, Width %d\n", gridDim.x, gridDim.y, blockDim.x, blockDim.y, Width);
#endif
    assert(blockDim.x * blockDim.y <= 1024);
    if (i < Width && j < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[i * Width + k] * N[k * Width + j];
        P[i * Width + j] = s;
    }
}
