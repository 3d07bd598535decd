__device__ int widthOf[4096];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    int* limit = &widthOf[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + t / 32];
    float v = 0;
    __syncwarp();
    if (t % 32 == 0) *limit = Width;
    int w = *limit;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        A[ty][tx] = (r < w && k0 + tx < w) ? M[r * Width + k0 + tx] : 0.0f;
        B[ty][tx] = (c < w && k0 + ty < w) ? N[(k0 + ty) * Width + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) v += A[ty][k] * B[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
