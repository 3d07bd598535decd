__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mt[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nt[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    int phases = Width / TILE_WIDTH;
    float Pvalue = 0;
    Mt[ty][tx] = M[Row * Width + tx];
    for (int ph = 0; ph < phases; ++ph) {
        Nt[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mt[ty][k] * Nt[k][tx];
        if (ph + 1 < phases)
            Mt[ty][tx] = M[Row * Width + (ph + 1) * TILE_WIDTH + tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
