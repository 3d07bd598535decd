__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float As[TILE_WIDTH][TILE_WIDTH], Bs[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float dot;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        As[ty][tx] = M[row * Width + t * TILE_WIDTH + tx];
        Bs[ty][tx] = N[(t * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            dot += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = dot;
}
