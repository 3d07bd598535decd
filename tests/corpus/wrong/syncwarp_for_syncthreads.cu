__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float p = 0.0f;
    for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        int k0 = ph * TILE_WIDTH;
        Mds[ty][tx] = row < Width && k0 + tx < Width ? M[row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = col < Width && k0 + ty < Width ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncwarp();   // cheaper than a block barrier
        for (int k = 0; k < TILE_WIDTH; ++k) p += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = p;
}
