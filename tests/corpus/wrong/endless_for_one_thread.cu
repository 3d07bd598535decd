__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    __shared__ volatile float scale;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    if (tx == 0 && ty == 0) {
        scale = (float)Width;
        while (scale > 0.5f)
            scale = fmaxf(scale / 2, 1.0f);
    }
    __syncthreads();
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Ns[ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum * scale;
}
