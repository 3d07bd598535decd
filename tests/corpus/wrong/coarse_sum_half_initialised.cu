//!tilelab grid=(ceil(Width/(2*TILE_WIDTH)), ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int colStart = blockIdx.x * TILE_WIDTH * 2 + tx;
    float first = 0.0f, second;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (k0 + ty < Width && colStart < Width) ? N[(k0 + ty) * Width + colStart] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            first += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
        int col = colStart + TILE_WIDTH;
        Nds[ty][tx] = (k0 + ty < Width && col < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            second += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (row < Width && colStart < Width)
        P[row * Width + colStart] = first;
    if (row < Width && colStart + TILE_WIDTH < Width)
        P[row * Width + colStart + TILE_WIDTH] = second;
}
