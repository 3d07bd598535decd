#include <functional>
#include <numeric>
#include <array>
#include <stdexcept>
#include <limits>
#include <cuda_runtime.h>
__global__ void MatrixMulKernel(const float *a, const float *b, float *c, int N) {
  // global row and column of this thread
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N || col >= N) return;
  float result = 0;
  for (int k = 0; k < N; k++) {
    result += a[row * N + k] * b[k * N + col];
  }
  c[row * N + col] = result;
}
