#define BLOCK_SIZE 32
#ifndef A_HEIGHT
#define A_HEIGHT 64
#endif
#ifndef A_WIDTH
#define A_WIDTH 64
#endif
#ifndef B_WIDTH
#define B_WIDTH 64
#endif
#define B_HEIGHT A_WIDTH
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
__global__ void __launch_bounds__(BLOCK_SIZE * BLOCK_SIZE) matrixMulCUDA() {
    __shared__ float A[BLOCK_SIZE][BLOCK_SIZE + 1], B[BLOCK_SIZE][BLOCK_SIZE + 1];
    unsigned row = threadIdx.y + blockIdx.y * BLOCK_SIZE, col = threadIdx.x + blockIdx.x * BLOCK_SIZE;
    float c = 0;
#pragma unroll 1
    for (unsigned i = 0; i < B_HEIGHT / BLOCK_SIZE; ++i) {
        __syncthreads();
        A[threadIdx.y][threadIdx.x] = d_A[row][i * BLOCK_SIZE + threadIdx.x];
        B[threadIdx.y][threadIdx.x] = d_B[i * BLOCK_SIZE + threadIdx.y][col];
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < BLOCK_SIZE; ++k) c += A[threadIdx.y][k] * B[k][threadIdx.x];
    }
    d_C[row][col] = c;
}
