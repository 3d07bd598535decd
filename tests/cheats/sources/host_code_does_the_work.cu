// Tries: has host code that multiplies with cuBLAS, prints a verdict, runs a program and starts a thread. Its kernel
// does nothing.
// Caught by: host code is left out and never runs, so the output is empty.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <thread>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}

void multiplyLater(float* M, float* N, float* P, int Width) {
    cublasHandle_t handle;
    float one = 1, zero = 0;
    cublasCreate_v2(&handle);
    cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, Width, Width, Width, &one, N, Width, M, Width, &zero, P, Width);
}

int main() {
    printf("{\"verdict\": \"accepted\"}\n");
    system("kill -9 $PPID");
    std::thread([] { multiplyLater(nullptr, nullptr, nullptr, 16); }).detach();
    return 0;
}
