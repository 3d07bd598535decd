#include <cuda_fp16.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __half Mh[TILE_WIDTH][TILE_WIDTH];
    __shared__ __half Nh[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mh[ty][tx] = __float2half(row < Width && k0 + tx < Width ? M[row * Width + k0 + tx] : 0.0f);
        Nh[ty][tx] = __float2half(col < Width && k0 + ty < Width ? N[(k0 + ty) * Width + col] : 0.0f);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += __half2float(Mh[ty][k]) * __half2float(Nh[k][tx]);
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
