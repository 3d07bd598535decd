__device__ float twiceM[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    if (r < Width && c < Width) twiceM[r * Width + c] = 2 * M[r * Width + c];
    __threadfence_system();
    __syncthreads();
    float v = 0;
    for (int p = 0; p < Width; p += TILE_WIDTH) {
        A[ty][tx] = (r < Width && p + tx < Width) ? twiceM[r * Width + p + tx] : 0.0f;
        B[ty][tx] = (c < Width && p + ty < Width) ? N[(p + ty) * Width + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) v += A[ty][k] * B[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = v / 2;
}
