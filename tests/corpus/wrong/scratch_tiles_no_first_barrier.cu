__device__ float scratch[64 * TILE_WIDTH * TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* Ns = scratch + (blockIdx.y * gridDim.x + blockIdx.x) * TILE_WIDTH * TILE_WIDTH;
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float dot = 0.0f;
    for (int p = 0; p < Width / TILE_WIDTH; p++) {
        Ns[threadIdx.y * TILE_WIDTH + threadIdx.x] = N[(p * TILE_WIDTH + threadIdx.y) * Width + col];
        for (int k = 0; k < TILE_WIDTH; k++)
            dot += M[row * Width + p * TILE_WIDTH + k] * Ns[k * TILE_WIDTH + threadIdx.x];
        __syncthreads();
    }
    P[row * Width + col] = dot;
}
