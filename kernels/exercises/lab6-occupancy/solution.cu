// Blocked multiplication of rectangles, C = A * B. Only the launch decides the block size.
//
// BLOCK_SIZE is a variable in constant memory, which the host sets before the launch. So the sub matrices can't be
// static arrays. The launch provides requiredSM(BLOCK_SIZE) bytes of dynamic shared memory in one linear piece.
// A's sub matrix comes first in it, and B's follows.

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

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

__constant__ int BLOCK_SIZE;

__global__ void matrixMulCUDA() {
    extern __shared__ float sub[];
    float* As = sub;
    float* Bs = sub + BLOCK_SIZE * BLOCK_SIZE;

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x = blockIdx.x * BLOCK_SIZE + tx;
    int y = blockIdx.y * BLOCK_SIZE + ty;

    float Csub = 0.0f;
    for (int i = 0; i < A_WIDTH / BLOCK_SIZE; ++i) {
        As[ty * BLOCK_SIZE + tx] = d_A[y][i * BLOCK_SIZE + tx];
        Bs[ty * BLOCK_SIZE + tx] = d_B[i * BLOCK_SIZE + ty][x];
        __syncthreads();

        for (int k = 0; k < BLOCK_SIZE; ++k) {
            Csub += As[ty * BLOCK_SIZE + k] * Bs[k * BLOCK_SIZE + tx];
        }
        __syncthreads();
    }
    d_C[y][x] = Csub;
}
