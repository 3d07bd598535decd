__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        float a = A[ty][tx] = (r < Width && k0 + tx < Width) ? M[r * Width + k0 + tx] : 0.0f;
        B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        if (__syncthreads_or(a != 0.0f))
            for (int k = 0; k < TILE_WIDTH; ++k) v += A[ty][k] * B[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
