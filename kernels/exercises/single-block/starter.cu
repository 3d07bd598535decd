// Multiplication of very small matrices, C = A * B, by a single block. Each thread computes one element of C.
//
// Replace every ____ below. Tilelab points to the first blank that is left.
//
// Check it with:  tilelab grade starter.cu --exercise single-block

// Tilelab compiles your file with other sizes. These are for your own tests. Keep the #ifndef around them.
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
    // All of A and all of B.
    __shared__ float As[____][____];
    __shared__ float Bs[____][____];

    int x = threadIdx.x;
    int y = threadIdx.y;

    // The block is as large as C. Which of its threads load an element of A, and which load an element of B?
    if (____) {
        As[y][x] = d_A[y][x];
    }
    if (____) {
        Bs[y][x] = d_B[y][x];
    }
    ____;  // what must have happened before any thread reads the matrices?

    float C = 0.0f;
    for (int k = 0; k < ____; ++k) {
        C += ____;
    }
    d_C[y][x] = C;
}
