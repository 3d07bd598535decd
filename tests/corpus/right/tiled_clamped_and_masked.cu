__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    int last = Width - 1;
    int row = min(Row, last), col = min(Col, last);
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        float inM = k0 + tx <= last, inN = k0 + ty <= last;
        Mds[ty][tx] = inM * M[row * Width + min(k0 + tx, last)];
        Nds[ty][tx] = inN * N[min(k0 + ty, last) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row <= last && Col <= last) P[Row * Width + Col] = Pvalue;
}
