#include <iostream>
#include <vector>
using std::cout;
using std::vector;
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(const float *a, const float *b, float *c, int N) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  float tmp = 0;
  for (int i = 0; i < N; i++) tmp += a[row * N + i] * b[i * N + col];
  c[row * N + col] = tmp;
}
