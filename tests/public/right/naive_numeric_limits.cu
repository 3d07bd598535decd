#include <limits>
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= Width || c >= Width) return;
    float largest = std::numeric_limits<float>::lowest(), s = 0;
    for (int k = 0; k < Width; ++k) {
        float term = M[r * Width + k] * N[k * Width + c];
        largest = term > largest ? term : largest;
        s += term;
    }
    P[r * Width + c] = largest == std::numeric_limits<float>::lowest() ? 0.0f : s;
}
