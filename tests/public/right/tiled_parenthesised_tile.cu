#define TILE_WIDTH (1 << 3)
#define TILE_AREA (TILE_WIDTH * TILE_WIDTH)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float left[TILE_AREA], right[TILE_AREA];
    int cell = threadIdx.y * TILE_WIDTH + threadIdx.x;
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float result = 0;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        int k = start + threadIdx.x;
        left[cell] = (row < Width && k < Width) ? M[row * Width + k] : 0;
        k = start + threadIdx.y;
        right[cell] = (k < Width && col < Width) ? N[k * Width + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; i++)
            result += left[threadIdx.y * TILE_WIDTH + i] * right[i * TILE_WIDTH + threadIdx.x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = result;
}
