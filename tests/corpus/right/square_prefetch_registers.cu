__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float As[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float a = M[row * Width + tx], b = N[ty * Width + col], sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        As[ty][tx] = a;
        Bs[ty][tx] = b;
        __syncthreads();
        if (k0 + TILE_WIDTH < Width) {
            a = M[row * Width + k0 + TILE_WIDTH + tx];
            b = N[(k0 + TILE_WIDTH + ty) * Width + col];
        }
        for (int k = 0; k < TILE_WIDTH; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
