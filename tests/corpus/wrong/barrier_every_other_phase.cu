__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0.0f;
    for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        int c = ph * TILE_WIDTH + tx, r = ph * TILE_WIDTH + ty;
        float a = 0.0f, b = 0.0f;
        if (Row < Width && c < Width) a = M[Row * Width + c];
        if (Col < Width && r < Width) b = N[r * Width + Col];
        Mds[ty][tx] = a;
        Nds[ty][tx] = b;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        if (ph % 2 == 1) __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
