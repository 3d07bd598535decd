#define TILE 32  //!tilelab block=(16, 16)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE][TILE];
    __shared__ float Nds[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE + ty;
    int Col = blockIdx.x * TILE + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (Width + TILE - 1) / TILE; ++ph) {
        Mds[ty][tx] = (Row < Width && ph * TILE + tx < Width) ? M[Row * Width + ph * TILE + tx] : 0.0f;
        Nds[ty][tx] = (Col < Width && ph * TILE + ty < Width) ? N[(ph * TILE + ty) * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width)
        P[Row * Width + Col] = Pvalue;
}
