__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float sM[TILE_WIDTH][TILE_WIDTH];
    __shared__ float sN[TILE_WIDTH][TILE_WIDTH];
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < Width / TILE_WIDTH + 1; t++) {
        int mc = t * TILE_WIDTH + threadIdx.x;
        int nr = t * TILE_WIDTH + threadIdx.y;
        if (r < Width && mc < Width)
            sM[threadIdx.y][threadIdx.x] = M[r * Width + mc];
        else
            sM[threadIdx.y][threadIdx.x] = 0.0f;
        if (nr < Width && c < Width)
            sN[threadIdx.y][threadIdx.x] = N[nr * Width + c];
        else
            sN[threadIdx.y][threadIdx.x] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++) sum += sM[threadIdx.y][k] * sN[k][threadIdx.x];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = sum;
}
