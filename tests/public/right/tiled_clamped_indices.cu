#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int safeRow = min(row, Width - 1), safeCol = min(col, Width - 1);
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = M[safeRow * Width + min(k0 + tx, Width - 1)];
        Ns[ty][tx] = N[min(k0 + ty, Width - 1) * Width + safeCol];
        __syncthreads();
        int last = min(TILE_WIDTH, Width - k0);
        for (int k = 0; k < last; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
