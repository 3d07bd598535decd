__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float sA[TILE_WIDTH][TILE_WIDTH];
    __shared__ float sB[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE_WIDTH + ty;
    int j = blockIdx.x * TILE_WIDTH + tx;
    float s = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        sA[ty][tx] = (i < Width && k0 + tx < Width) ? M[i * Width + k0 + tx] : 0.0f;
        if (j < Width && k0 + ty < Width) sB[ty][tx] = N[(k0 + ty) * Width + j];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            float a = sA[ty][k];
            float b = sB[k][tx];
            s += a * b;
        }
        __syncthreads();
    }
    if (i < Width && j < Width) P[i * Width + j] = s;
}
