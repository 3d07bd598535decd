__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    Mds[ty][tx] = 0;
    Nds[ty][tx] = 0;
    for (int k0 = 0; k0 + tx < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = Row < Width ? M[Row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    __syncthreads();
    if (Row < Width && Col < Width)
        P[Row * Width + Col] = Pvalue;
}
