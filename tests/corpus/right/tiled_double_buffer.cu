__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float B[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    int tiles = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    float acc = 0.0f;
    A[0][ty][tx] = (row < Width && tx < Width) ? M[row * Width + tx] : 0.0f;
    B[0][ty][tx] = (ty < Width && col < Width) ? N[ty * Width + col] : 0.0f;
    for (int t = 0; t < tiles; ++t) {
        int cur = t & 1;
        __syncthreads();
        if (t + 1 < tiles) {
            int kc = (t + 1) * TILE_WIDTH + tx;
            int kr = (t + 1) * TILE_WIDTH + ty;
            A[cur ^ 1][ty][tx] = (row < Width && kc < Width) ? M[row * Width + kc] : 0.0f;
            B[cur ^ 1][ty][tx] = (kr < Width && col < Width) ? N[kr * Width + col] : 0.0f;
        }
        for (int k = 0; k < TILE_WIDTH; ++k)
            acc += A[cur][ty][k] * B[cur][k][tx];
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
