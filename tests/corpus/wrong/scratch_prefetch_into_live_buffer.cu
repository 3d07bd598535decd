__device__ float buffer[2][64][TILE_WIDTH][TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx, now = 0;
    float sum = 0;
    buffer[0][b][ty][tx] = (ty < Width && col < Width) ? N[ty * Width + col] : 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        __syncthreads();
        int next = k0 + TILE_WIDTH + ty;
        buffer[now][b][ty][tx] = (next < Width && col < Width) ? N[next * Width + col] : 0.0f;
        for (int k = 0; k < TILE_WIDTH; ++k)
            if (row < Width && k0 + k < Width) sum += M[row * Width + k0 + k] * buffer[now][b][k][tx];
        now ^= 1;
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
