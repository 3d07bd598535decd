__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (Row < Width && k0 + tx < Width) Mds[ty][tx] = M[Row * Width + k0 + tx];
        if (Col < Width && k0 + ty < Width) Nds[ty][tx] = N[(k0 + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH && k0 + k < Width; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
