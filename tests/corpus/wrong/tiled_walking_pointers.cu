__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float As[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    int safeRow = min(row, Width - 1), safeCol = min(col, Width - 1);
    const float* a = M + safeRow * Width + tx;
    const float* b = N + ty * Width + safeCol;
    float acc = 0.0f;
    for (int left = Width; left > 0; left -= TILE_WIDTH) {
        As[ty][tx] = __ldg(a);
        Bs[ty][tx] = __ldg(b);
        __syncthreads();
        for (int k = 0; k < min(left, TILE_WIDTH); ++k)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
        a += TILE_WIDTH;
        b += TILE_WIDTH * Width;
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
