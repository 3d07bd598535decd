#include <cuda_runtime.h>
/* first version, 971 ms
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < Width; ++k) s += M[r * Width + k] * N[k * Width + c];
    P[r * Width + c] = s;
}
*/
#define TILE_WIDTH 16
