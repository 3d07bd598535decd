__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, now = 0;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        A[now][ty][tx] = M[row * Width + k0 + tx];
        __syncthreads();
        for (int step = 0; step < TILE_WIDTH; ++step) {
            sum += A[now][ty][tx] * N[(k0 + (tx + step) % TILE_WIDTH) * Width + col];
            A[now ^ 1][ty][tx] = A[now][ty][(tx + 1) % TILE_WIDTH];
            now ^= 1;
            __syncthreads();
        }
    }
    P[row * Width + col] = sum;
}
