__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = (Width - 1) / TILE_WIDTH; ph >= 0; --ph) {
        int c = ph * TILE_WIDTH + tx, r = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && c < Width) ? M[Row * Width + c] : 0.0f;
        Nds[ty][tx] = (Col < Width && r < Width) ? N[r * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = TILE_WIDTH - 1; k >= 0; --k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
