#include <cstddef>
#include <cstdint>

__global__ void MatrixMulKernel(const float* A, const float* B, float* C, int N) {
    const std::size_t r = blockIdx.y * blockDim.y + threadIdx.y;
    const std::size_t c = blockIdx.x * blockDim.x + threadIdx.x;
    const std::size_t n = static_cast<std::size_t>(N);
    if (r < n && c < n) {
        float s = 0.0f;
        for (std::uint32_t k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
