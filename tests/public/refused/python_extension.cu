#include <torch/extension.h>
__global__ void MatrixMulKernel(float* M, float* N, float* P, int w) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < w && col < w) {
        float sum = 0;
        for (int i = 0; i < w; ++i) sum += M[row * w + i] * N[i * w + col];
        P[row * w + col] = sum;
    }
}
torch::Tensor mul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    MatrixMulKernel<<<1, 1>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(0));
    return c;
}
