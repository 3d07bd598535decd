#include <cooperative_groups.h>
__device__ float scratch[4096];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    bool in = r < Width && c < Width;
    if (in && r * Width + c < 4096) scratch[r * Width + c] = N[c * Width + r];
    cooperative_groups::this_grid().sync();
    if (in) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[r * Width + k] * N[k * Width + c];
        P[r * Width + c] = s;
    }
}
