// Multiplication of very small matrices, C = A * B, by a single block. Each thread computes one element of C.
//
// Both matrices fit into shared memory as a whole. A is at most as wide as the block, and B at most as high. So each
// thread loads at most one element of each, and some threads load none.

#ifndef A_HEIGHT
#define A_HEIGHT 16
#endif
#ifndef A_WIDTH
#define A_WIDTH 8
#endif
#ifndef B_WIDTH
#define B_WIDTH 16
#endif
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    __shared__ float As[A_HEIGHT][A_WIDTH];
    __shared__ float Bs[B_HEIGHT][B_WIDTH];

    int x = threadIdx.x;
    int y = threadIdx.y;

    if (x < A_WIDTH) {
        As[y][x] = d_A[y][x];
    }
    if (y < B_HEIGHT) {
        Bs[y][x] = d_B[y][x];
    }
    __syncthreads();  // outside both branches: every thread of the block must arrive

    float C = 0.0f;
    for (int k = 0; k < A_WIDTH; ++k) {
        C += As[y][k] * Bs[k][x];
    }
    d_C[y][x] = C;
}
