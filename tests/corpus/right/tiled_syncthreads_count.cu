__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; ; k0 += TILE_WIDTH) {
        float m = (Row < Width && k0 + tx < Width) ? M[Row * Width + k0 + tx] : 0.0f;
        float n = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        Mds[ty][tx] = m;
        Nds[ty][tx] = n;
        if (__syncthreads_count(k0 + tx < Width) == 0) break;
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        if (!__syncthreads_or(k0 + TILE_WIDTH < Width)) break;
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
