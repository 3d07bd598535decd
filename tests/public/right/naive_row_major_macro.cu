#include "cuda_runtime.h"
#include "device_launch_parameters.h"

/* row major and column major offsets */
#define RM(r, c, width) ((r) * (width) + (c))
#define CM(r, c, width) ((c) * (width) + (r))

static inline int updiv(int n, int d) {
    return (n + d - 1) / d;
}

__global__ void
MatrixMulKernel(float *dmatA, float *dmatB, float *dmatC, int N) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N || j >= N)
        return;
    float sum = 0.0;
    for (int k = 0; k < N; k++) {
        sum += dmatA[RM(i, k, N)] * dmatB[RM(k, j, N)];
    }
    dmatC[RM(i, j, N)] = sum;
}
