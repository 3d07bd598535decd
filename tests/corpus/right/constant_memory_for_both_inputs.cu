#ifndef A_HEIGHT
#define A_HEIGHT 16
#define A_WIDTH 8
#define B_WIDTH 16
#endif
__constant__ float d_A[A_HEIGHT][A_WIDTH];
__constant__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    float sum = 0;
    for (int k = 0; k < A_WIDTH; ++k) sum += d_A[threadIdx.y][k] * d_B[k][threadIdx.x];
    d_C[threadIdx.y][threadIdx.x] = sum;
}
