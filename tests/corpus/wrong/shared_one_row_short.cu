__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float tM[TILE_WIDTH - 1][TILE_WIDTH];
    __shared__ float tN[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float s = 0.0f;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        tM[ty][tx] = M[row * Width + t * TILE_WIDTH + tx];
        tN[ty][tx] = N[(t * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            s += tM[ty][k] * tN[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = s;
}
