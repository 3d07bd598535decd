#define BLOCK_SIZE 16
#define A_HEIGHT 64
#define A_WIDTH 96
#define B_WIDTH 128
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
__global__ void matrixMulCUDA() {
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x, y = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    float c = 0;
    for (int k = 0; k < A_WIDTH; ++k) c += d_A[y][k] * d_B[k][x];
    d_C[y][x] = c;
}
