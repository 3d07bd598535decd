#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef A_HEIGHT
#define A_HEIGHT 64
#endif
#ifndef A_WIDTH
#define A_WIDTH 64
#endif
#ifndef B_WIDTH
#define B_WIDTH 64
#endif
__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[A_WIDTH * B_WIDTH];
__device__ float d_C[A_HEIGHT * B_WIDTH];
__global__ void matrixMulCUDA() {
    __shared__ float a[BLOCK_SIZE][BLOCK_SIZE], b[BLOCK_SIZE][BLOCK_SIZE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + y, col = blockIdx.x * BLOCK_SIZE + x;
    float c = 0;
    for (int i = 0; i < B_WIDTH / BLOCK_SIZE && i < A_WIDTH / BLOCK_SIZE; ++i) {
        a[y][x] = d_A[row * A_WIDTH + i * BLOCK_SIZE + x];
        b[y][x] = d_B[(i * BLOCK_SIZE + y) * B_WIDTH + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) c += a[y][k] * b[k][x];
        __syncthreads();
    }
    d_C[row * B_WIDTH + col] = c;
}
