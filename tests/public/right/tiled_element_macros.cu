#define TILE_WIDTH 16
#define A(i, j) M[(i) * Width + (j)]
#define B(i, j) N[(i) * Width + (j)]
#define C(i, j) P[(i) * Width + (j)]
#define IN(i, j) ((i) < Width && (j) < Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float as[TILE_WIDTH][TILE_WIDTH];
    __shared__ float bs[TILE_WIDTH][TILE_WIDTH];
    int i = blockIdx.y * TILE_WIDTH + threadIdx.y, j = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float c = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        as[threadIdx.y][threadIdx.x] = IN(i, t + threadIdx.x) ? A(i, t + threadIdx.x) : 0.0f;
        bs[threadIdx.y][threadIdx.x] = IN(t + threadIdx.y, j) ? B(t + threadIdx.y, j) : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) c += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (IN(i, j)) C(i, j) = c;
}
