__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float subM[TILE_WIDTH][TILE_WIDTH];
    __shared__ float subN[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x; int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int m = 0; m <= Width / TILE_WIDTH; ++m) {
        subM[ty][tx] = M[Row * Width + m * TILE_WIDTH + tx];
        subN[ty][tx] = N[(m * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += subM[ty][k] * subN[k][tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
