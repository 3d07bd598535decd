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
#define NUM_SUBS (A_WIDTH / BLOCK_SIZE)
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDA() {
    __shared__ float subA[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float subB[BLOCK_SIZE][BLOCK_SIZE];
    int lx = threadIdx.x, ly = threadIdx.y;
    int gx = blockIdx.x * BLOCK_SIZE + lx, gy = blockIdx.y * BLOCK_SIZE + ly;
    float acc = 0.0f;
    for (int s = 0; s < NUM_SUBS; s++) {
        subA[ly][lx] = d_A[gy][s * BLOCK_SIZE + lx];
        subB[ly][lx] = d_B[s * BLOCK_SIZE + ly][gx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++) acc += subA[ly][k] * subB[k][lx];
        __syncthreads();
    }
    d_C[gy][gx] = acc;
}
