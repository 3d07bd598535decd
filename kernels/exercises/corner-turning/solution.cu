// Tiled matrix multiplication, P = M * N, for a column-major N.
// Width is a multiple of TILE_WIDTH.
//
// Corner turning: neighbouring threads read neighbouring addresses of N, which are neighbours in a column. They store
// each column of N as a row of Nds. The inner loop transposes the tile: it reads Nds[tx][k] instead of Nds[k][tx].
// Rows of Nds are one cell longer than the tile. This puts the cells of a column into different banks, so there is no
// bank conflict.

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH + 1];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    int firstCol = blockIdx.x * TILE_WIDTH;

    float Pvalue = 0.0f;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        // ty picks the column and tx the row, so that tx goes along memory
        Nds[ty][tx] = N[(firstCol + ty) * Width + ph * TILE_WIDTH + tx];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[tx][k];
        }
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
