__device__ __noinline__ void load(float* cell, const float* A, int row, int col, int width)
{
    *cell = (row < width && col < width) ? A[row * width + col] : 0.0f;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        load(&Mds[ty][tx], M, Row, k0 + tx, Width);
        load(&Nds[ty][tx], N, k0 + ty, Col, Width);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
