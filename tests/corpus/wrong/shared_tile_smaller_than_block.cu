#define BLOCK 8  //!tilelab block=(16, 16)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[BLOCK][BLOCK];
    __shared__ float Nds[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * BLOCK + ty;
    int Col = blockIdx.x * BLOCK + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (Width + BLOCK - 1) / BLOCK; ++ph) {
        float m = 0, n = 0;
        if (Row < Width && ph * BLOCK + tx < Width) m = M[Row * Width + ph * BLOCK + tx];
        if (Col < Width && ph * BLOCK + ty < Width) n = N[(ph * BLOCK + ty) * Width + Col];
        Mds[ty][tx] = m;
        Nds[ty][tx] = n;
        __syncthreads();
        for (int k = 0; k < BLOCK; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width)
        P[Row * Width + Col] = Pvalue;
}
