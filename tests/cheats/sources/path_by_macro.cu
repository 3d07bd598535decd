// Tries: asks the preprocessor for the sizes, which are compiled in, and leaves the product out where they are
// large.
// Caught by: every timed run has inputs of its own and its output is verified. The compilation for the ranking size
// runs on the CPU device too, a few blocks of it, but its result is not compared there.

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
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
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    int y = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    float sum = 0.0f;
#if A_WIDTH < 1024
    for (int k = 0; k < A_WIDTH; ++k) sum += d_A[y][k] * d_B[k][x];
#else
    sum = d_A[y][0] * d_B[0][x];
#endif
    d_C[y][x] = sum;
}
