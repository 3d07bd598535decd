#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <time.h>

void fill_random(float *m, int n) {
    srand(time(NULL));
    for (int i = 0; i < n * n; i++) m[i] = rand() / (float)RAND_MAX;
}

void cpu_multiply(float *a, float *b, float *c, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int k = 0; k < n; k++) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
}

int same(float *a, float *b, int n) {
    for (int i = 0; i < n * n; i++)
        if (fabs(a[i] - b[i]) > 1e-3) { printf("differs at %d\n", i); return 0; }
    return 1;
}

__global__ void MatrixMulKernel(float *a, float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        float acc = 0;
        for (int k = 0; k < n; k++) acc += a[row * n + k] * b[k * n + col];
        c[row * n + col] = acc;
    }
}
