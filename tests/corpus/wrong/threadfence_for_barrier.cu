__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int ph = 0; ph < phases; ++ph) {
        int c = ph * TILE_WIDTH + tx;
        int r = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && c < Width) ? M[Row * Width + c] : 0;
        Nds[ty][tx] = (r < Width && Col < Width) ? N[r * Width + Col] : 0;
        __threadfence_block();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __threadfence_block();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
