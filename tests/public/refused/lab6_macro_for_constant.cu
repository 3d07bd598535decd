#define BLOCK_SIZE 16
#ifndef A_HEIGHT
#define A_HEIGHT 64
#endif
#ifndef A_WIDTH
#define A_WIDTH 96
#endif
#ifndef B_WIDTH
#define B_WIDTH 128
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
__global__ void matrixMulCUDA() {
    __shared__ float a[BLOCK_SIZE][BLOCK_SIZE], b[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * BLOCK_SIZE + tx, y = blockIdx.y * BLOCK_SIZE + ty;
    float c = 0;
    for (int i = 0; i < A_WIDTH / BLOCK_SIZE; ++i) {
        a[ty][tx] = d_A[y][i * BLOCK_SIZE + tx];
        b[ty][tx] = d_B[i * BLOCK_SIZE + ty][x];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) c += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    d_C[y][x] = c;
}
