__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float B[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    float acc = 0.0f;
    for (int p = 0; p < phases; ++p) {
        int in = p & 1, out = 1 - in;
        int c = p * TILE_WIDTH + tx, r = p * TILE_WIDTH + ty;
        A[in][ty][tx] = (row < Width && c < Width) ? M[row * Width + c] : 0.0f;
        B[in][ty][tx] = (col < Width && r < Width) ? N[r * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            acc += A[out][ty][k] * B[out][k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
