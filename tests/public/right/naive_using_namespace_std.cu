#include <iostream>
#include <vector>
#include <algorithm>
#include <cassert>

using namespace std;

__global__ void MatrixMulKernel(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (row < n && col < n) {
        float tmp = 0;
        for (int k = 0; k < n; k++) tmp += a[row * n + k] * b[k * n + col];
        c[row * n + col] = tmp;
    }
}
