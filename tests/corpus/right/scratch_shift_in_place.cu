__device__ float A[64][TILE_WIDTH][TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        A[b][ty][tx] = M[row * Width + k0 + tx];
        __syncthreads();
        for (int step = 0; step < TILE_WIDTH; ++step) {
            sum += A[b][ty][tx] * N[(k0 + (tx + step) % TILE_WIDTH) * Width + col];
            float right = A[b][ty][(tx + 1) % TILE_WIDTH];
            __syncthreads();
            A[b][ty][tx] = right;
            __syncthreads();
        }
    }
    P[row * Width + col] = sum;
}
