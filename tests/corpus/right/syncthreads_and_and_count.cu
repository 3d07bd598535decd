__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    int left = 1;
    for (int k0 = 0; left > 0; k0 += TILE_WIDTH) {
        A[ty][tx] = (r < Width && k0 + tx < Width) ? M[r * Width + k0 + tx] : 0.0f;
        B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        int whole = __syncthreads_and(k0 + tx < Width);
        int last = whole ? TILE_WIDTH : Width - k0;
        for (int k = 0; k < last; ++k) v += A[ty][k] * B[k][tx];
        left = __syncthreads_count(k0 + TILE_WIDTH + tx < Width);
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
