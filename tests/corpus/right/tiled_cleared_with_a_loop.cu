__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float both[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        float* flat = &both[0][0][0];
        for (int i = ty * TILE_WIDTH + tx; i < 2 * TILE_WIDTH * TILE_WIDTH; i += TILE_WIDTH * TILE_WIDTH) flat[i] = 0.0f;
        __syncthreads();
        if (Row < Width && k0 + tx < Width) both[0][ty][tx] = M[Row * Width + k0 + tx];
        if (Col < Width && k0 + ty < Width) both[1][ty][tx] = N[(k0 + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += both[0][ty][k] * both[1][k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
