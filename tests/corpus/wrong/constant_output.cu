#ifndef A_HEIGHT
#define A_HEIGHT 64
#define A_WIDTH 96
#define B_WIDTH 128
#endif
__constant__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__constant__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDA() {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < A_WIDTH; ++k) sum += d_A[y][k] * d_B[k][x];
    *(float*)&d_C[y][x] = sum;
}
