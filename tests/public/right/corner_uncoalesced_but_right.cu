#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float s = 0;
    for (int p = 0; p < Width; p += TILE_WIDTH) {
        a[threadIdx.y][threadIdx.x] = M[r * Width + (p + threadIdx.x)];
        b[threadIdx.y][threadIdx.x] = N[c * Width + (p + threadIdx.y)];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++) s += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    P[r * Width + c] = s;
}
