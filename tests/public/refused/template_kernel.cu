template <int BLOCK_SIZE>
__global__ void MatrixMulKernel(float* A, float* B, float* C, int wA) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE], Bs[BLOCK_SIZE][BLOCK_SIZE];
    int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float c = 0;
    for (int m = 0; m < wA; m += BLOCK_SIZE) {
        As[threadIdx.y][threadIdx.x] = A[row * wA + m + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(m + threadIdx.y) * wA + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) c += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * wA + col] = c;
}
