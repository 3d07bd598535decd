#define CELLS (TILE_WIDTH * TILE_WIDTH)
#define MT(r, c) tiles[(r) * TILE_WIDTH + (c)]
#define NT(r, c) tiles[CELLS + (r) * TILE_WIDTH + (c)]

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float tiles[2 * CELLS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        MT(ty, tx) = (Row < Width && k0 + tx < Width) ? M[Row * Width + k0 + tx] : 0.0f;
        NT(ty, tx) = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += MT(ty, k) * NT(k, tx);
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
