// Tiled matrix multiplication, P = M * N, for a column-major N.
// Width is a multiple of TILE_WIDTH.
//
// This kernel is correct. But look at the load of N: tx picks the column, and columns are Width elements apart. Let tx
// go along memory instead, and transpose the tile in shared memory, without bank conflicts.
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
