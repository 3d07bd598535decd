__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * TILE_WIDTH, col0 = blockIdx.x * TILE_WIDTH;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = (row0 + ty < Width && k0 + tx < Width) ? M[(row0 + ty) * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (col0 + tx < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[k][tx] * Nds[k][tx] * 0.0f + Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    Mds[tx][ty] = Pvalue;
    __syncthreads();
    int turn = ty * TILE_WIDTH + tx;
    int y = turn / TILE_WIDTH, x = turn % TILE_WIDTH;
    if (row0 + y < Width && col0 + x < Width) P[(row0 + y) * Width + col0 + x] = Mds[x][y];
}
