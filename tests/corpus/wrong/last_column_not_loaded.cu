__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float subM[TILE_WIDTH][TILE_WIDTH];
    __shared__ float subN[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty;
    int c = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int m = 0; m < Width / TILE_WIDTH; ++m) {
        if (tx < TILE_WIDTH - 1)
            subM[ty][tx] = M[r * Width + m * TILE_WIDTH + tx];
        subN[ty][tx] = N[(m * TILE_WIDTH + ty) * Width + c];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += subM[ty][k] * subN[k][tx];
        __syncthreads();
    }
    P[r * Width + c] = sum;
}
