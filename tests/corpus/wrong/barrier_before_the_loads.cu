__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float tileM[TILE_WIDTH][TILE_WIDTH], tileN[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        __syncthreads();
        tileM[threadIdx.y][threadIdx.x] = 0; // clear, then fill
        tileN[threadIdx.y][threadIdx.x] = 0;
        __syncthreads();
        if (row < Width && start + threadIdx.x < Width)
            tileM[threadIdx.y][threadIdx.x] = M[row * Width + start + threadIdx.x];
        if (col < Width && start + threadIdx.y < Width)
            tileN[threadIdx.y][threadIdx.x] = N[(start + threadIdx.y) * Width + col];
        for (int k = 0; k < TILE_WIDTH; ++k)
            value += tileM[threadIdx.y][k] * tileN[k][threadIdx.x];
    }
    if (row < Width && col < Width)
        P[row * Width + col] = value;
}
