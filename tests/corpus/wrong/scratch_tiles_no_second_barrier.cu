__device__ float tileM[64][TILE_WIDTH][TILE_WIDTH], tileN[64][TILE_WIDTH][TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        tileM[b][ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        tileN[b][ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += tileM[b][ty][k] * tileN[b][k][tx];
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
