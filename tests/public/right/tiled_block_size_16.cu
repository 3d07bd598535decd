#define BLOCK_SIZE 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int n)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty, col = blockIdx.x * BLOCK_SIZE + tx;
    float Csub = 0;
    for (int base = 0; base < n; base += BLOCK_SIZE) {
        As[ty][tx] = (row < n && base + tx < n) ? A[row * n + base + tx] : 0;
        Bs[ty][tx] = (col < n && base + ty < n) ? B[(base + ty) * n + col] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = Csub;
}
