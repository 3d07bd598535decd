#ifndef A_HEIGHT
#define A_HEIGHT 16
#endif
#ifndef A_WIDTH
#define A_WIDTH 16
#endif
#ifndef B_WIDTH
#define B_WIDTH 16
#endif

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    __shared__ float sA[A_HEIGHT][A_WIDTH];
    __shared__ float sB[A_WIDTH][B_WIDTH];
    int col = threadIdx.x, row = threadIdx.y;
    if (col < A_WIDTH) sA[row][col] = d_A[row][col];
    if (row < A_WIDTH) sB[row][col] = d_B[row][col];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < A_WIDTH; i++) sum += sA[row][i] * sB[i][col];
    d_C[row][col] = sum;
}
