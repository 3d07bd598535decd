__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    bool inside = Row < Width && Col < Width;
    if (inside) P[Row * Width + Col] = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = (Row < Width && k0 + tx < Width) ? M[Row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        __syncthreads();
        float part = 0;
        for (int k = 0; k < TILE_WIDTH; ++k) part += Mds[ty][k] * Nds[k][tx];
        if (inside) P[Row * Width + Col] += part;
        __syncthreads();
    }
}
