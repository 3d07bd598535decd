__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float b[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        a[ty][tx] = M[row * Width + t * TILE_WIDTH + tx];
        b[ty][tx] = N[(t * TILE_WIDTH + ty) * Width + col];
        if (ty < 2)                 // one warp is enough to wait
            __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
