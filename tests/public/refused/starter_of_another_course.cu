#include <cuda_runtime.h>
// TODO: implement the tiled version
__global__ void matmul_tiled(float* A, float* B, float* C, int M, int N, int K) {
    // 1. declare shared memory
    // 2. loop over the tiles
}
__global__ void matmul_naive(float* A, float* B, float* C, int M, int N, int K) {
}
