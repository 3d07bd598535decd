#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t e = (call);                                            \
        if (e != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(EXIT_FAILURE);                                            \
        }                                                                  \
    } while (0)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < Width && j < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[i * Width + k] * N[k * Width + j];
        P[i * Width + j] = s;
    }
}

#ifndef TILELAB
static void reference(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 512;
    size_t bytes = (size_t)n * n * sizeof(float);
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, bytes));
    CHECK(cudaMallocManaged(&b, bytes));
    CHECK(cudaMallocManaged(&c, bytes));
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    MatrixMulKernel<<<grid, block>>>(a, b, c, n);
    CHECK(cudaDeviceSynchronize());
    printf("done\n");
    return 0;
}
#endif
