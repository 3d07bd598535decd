// Tiled matrix multiplication, P = M * N, where N lies in memory column by column and Width is a multiple of
// TILE_WIDTH.
//
// This kernel is right. But look at the load of N: tx picks the column, and columns lie Width elements apart. Let tx
// run along memory instead, and do the turning in shared memory, without bank conflicts.
//
// Check it with:  tilelab grade starter.cu --exercise corner-turning

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;

    float Pvalue = 0.0f;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[ty][tx] = N[Col * Width + ph * TILE_WIDTH + ty];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
