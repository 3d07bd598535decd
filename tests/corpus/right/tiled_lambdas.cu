__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    const auto cell = [Width](const float* A, int r, int c) { return r < Width && c < Width ? A[r * Width + c] : 0.0f; };
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = cell(M, row, k0 + tx);
        Nds[ty][tx] = cell(N, k0 + ty, col);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
