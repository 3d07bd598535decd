#include <cuda_runtime.h>
#define THREADS 16

inline dim3 makeGrid(int n) {
    return dim3((n + THREADS - 1) / THREADS, (n + THREADS - 1) / THREADS);
}

inline dim3 makeBlock() { return dim3(THREADS, THREADS, 1); }

__global__ void __launch_bounds__(THREADS * THREADS) MatrixMulKernel(float* A, float* B, float* C, int n) {
    int ty = blockIdx.y * THREADS + threadIdx.y;
    int tx = blockIdx.x * THREADS + threadIdx.x;
    if (ty < n && tx < n) {
        float r = 0;
        for (int k = 0; k < n; ++k) r += A[ty * n + k] * B[k * n + tx];
        C[ty * n + tx] = r;
    }
}
