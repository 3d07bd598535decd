__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float value = 0;
    for (int t = 0; t < (Width + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
        if (row >= Width || col >= Width) continue;
        Ms[ty][tx] = (t * TILE_WIDTH + tx < Width) ? M[row * Width + t * TILE_WIDTH + tx] : 0;
        Ns[ty][tx] = (t * TILE_WIDTH + ty < Width) ? N[(t * TILE_WIDTH + ty) * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            value += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = value;
}
