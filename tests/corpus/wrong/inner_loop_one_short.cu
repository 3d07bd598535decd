__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float p = 0.0f;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        Mds[ty][tx] = M[row * Width + t * TILE_WIDTH + tx];
        Nds[ty][tx] = N[(t * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH - 1; ++k)
            p += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = p;
}
