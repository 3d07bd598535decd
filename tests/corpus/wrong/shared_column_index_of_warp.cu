__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int tx = tid % warpSize, ty = tid / warpSize;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        float m = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        float n = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        Ms[2 * ty + tx / TILE_WIDTH][tx % TILE_WIDTH] = m;
        Ns[2 * ty][tx] = n;
        Ns[2 * ty + 1][tx] = n;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx % TILE_WIDTH];
        __syncthreads();
    }
    if (row < Width && col < Width && tx < TILE_WIDTH) P[row * Width + col] = sum;
}
