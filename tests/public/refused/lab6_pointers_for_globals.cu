#define BLOCK_SIZE 16
__global__ void matrixMulCUDA(float* C, float* A, float* B, int wA, int wB) {
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x, y = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    float c = 0;
    for (int k = 0; k < wA; ++k) c += A[y * wA + k] * B[k * wB + x];
    C[y * wB + x] = c;
}
