#include <cuda_pipeline.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (Row < Width && k0 + tx < Width)
            __pipeline_memcpy_async(&Mds[ty][tx], &M[Row * Width + k0 + tx], sizeof(float));
        else
            Mds[ty][tx] = 0.0f;
        if (Col < Width && k0 + ty < Width)
            __pipeline_memcpy_async(&Nds[ty][tx], &N[(k0 + ty) * Width + Col], sizeof(float));
        else
            Nds[ty][tx] = 0.0f;
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width)
        P[Row * Width + Col] = Pvalue;
}
