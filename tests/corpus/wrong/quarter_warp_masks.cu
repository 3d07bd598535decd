#define TILE_WIDTH 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        A[ty][tx] = M[row * Width + k0 + tx];
        B[ty][tx] = N[(k0 + ty) * Width + col];
        __syncwarp(0xfu << 4 * ty);
        for (int k = 0; k < TILE_WIDTH; ++k) sum += A[ty][k] * B[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
