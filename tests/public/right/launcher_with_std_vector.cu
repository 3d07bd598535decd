#include <iostream>
#include <vector>
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float s = 0;
    for (int k = 0; k < Width; ++k) s += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = s;
}
void show(int n) {
    std::vector<float> m(n * n);
    for (auto& x : m) std::cout << x << ' ';
}
