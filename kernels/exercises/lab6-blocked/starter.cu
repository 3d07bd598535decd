// Blocked multiplication of rectangles, C = A * B. The matrices are globals of this file.
//
// This kernel is correct but slow. Each thread reads a whole row of A and a whole column of B from global memory. Do the
// three steps marked TODO.
//
// Check it with:  tilelab grade starter.cu --exercise lab6-blocked

// Tilelab compiles your file with other sizes. These are for your own tests. Keep the #ifndef around them.
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
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT
// TODO: how many pairs of sub matrices does a block work through? #define NUM_SUBS ...

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

__global__ void matrixMulCUDA() {
    // TODO: declare a sub matrix of A and one of B in shared memory

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x = blockIdx.x * BLOCK_SIZE + tx;
    int y = blockIdx.y * BLOCK_SIZE + ty;

    float Csub = 0.0f;
    // TODO: go through the pairs of sub matrices. Load one pair, wait, sum its products from shared memory, wait.
    for (int k = 0; k < A_WIDTH; ++k) {
        Csub += d_A[y][k] * d_B[k][x];
    }
    d_C[y][x] = Csub;
}
