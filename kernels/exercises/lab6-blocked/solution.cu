// Blocked multiplication of rectangles, C = A * B. The matrices are globals of this file.
//
// A block computes one BLOCK_SIZE x BLOCK_SIZE sub matrix of C. It needs NUM_SUBS pairs of sub matrices of A and B. Its
// threads load them into shared memory pair by pair.

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
#define NUM_SUBS (A_WIDTH / BLOCK_SIZE)

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

__global__ void matrixMulCUDA() {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x = blockIdx.x * BLOCK_SIZE + tx;
    int y = blockIdx.y * BLOCK_SIZE + ty;

    float Csub = 0.0f;
    for (int i = 0; i < NUM_SUBS; ++i) {
        As[ty][tx] = d_A[y][i * BLOCK_SIZE + tx];
        Bs[ty][tx] = d_B[i * BLOCK_SIZE + ty][x];
        __syncthreads();  // the sub matrices are complete before any thread reads them

        for (int k = 0; k < BLOCK_SIZE; ++k) {
            Csub += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // all threads have finished reading before the next pair overwrites them
    }
    d_C[y][x] = Csub;
}
