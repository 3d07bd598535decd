__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ int phases;
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    if (tx == 0 && ty == 0)
        phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    int count = phases;
    float sum = 0.0f;
    for (int p = 0; p < (Width + TILE_WIDTH - 1) / TILE_WIDTH; p++) {
        int kx = p * TILE_WIDTH + tx, ky = p * TILE_WIDTH + ty;
        Ms[ty][tx] = (row < Width && kx < Width) ? M[row * Width + kx] : 0.0f;
        Ns[ty][tx] = (col < Width && ky < Width) ? N[ky * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            sum += (p < count) ? Ms[ty][k] * Ns[k][tx] : 0.0f;
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
