__device__ float pool[64 * TILE_WIDTH * (TILE_WIDTH + 1)];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    float (*Ns)[TILE_WIDTH + 1] = (float (*)[TILE_WIDTH + 1])(pool + b * TILE_WIDTH * TILE_WIDTH);
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ns[ty][tx] = N[(k0 + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += M[row * Width + k0 + k] * Ns[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
