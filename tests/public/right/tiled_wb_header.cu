#include <wb.h>
#define TILE_WIDTH 16
#define wbCheck(stmt)                                     \
  do {                                                    \
    cudaError_t err = stmt;                               \
    if (err != cudaSuccess) {                             \
      wbLog(ERROR, "Failed to run stmt ", #stmt);         \
      return -1;                                          \
    }                                                     \
  } while (0)
__global__ void MatrixMulKernel(float* A, float* B, float* C, int n) {
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (r < n && c < n) {
        float s = 0;
        for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
