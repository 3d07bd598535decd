//!tilelab block=(96) grid=(5)
#include <cuda_runtime.h>

__global__ void MatrixMulKernel(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z,
                                int dim) {
    unsigned step = blockDim.x * gridDim.x;
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < (unsigned)dim * dim; at += step) {
        const float* row = x + (at / dim) * dim;
        const float* column = y + at % dim;
        float total = 0.f;
        for (int k = 0; k < dim; ++k, column += dim) total += row[k] * *column;
        z[at] = total;
    }
}
